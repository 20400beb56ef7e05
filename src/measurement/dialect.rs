//! How a file of rows is written down: by this program, or by a spreadsheet that saved it; pure.

use csv::StringRecord;

use super::columns;

/// Begins what some spreadsheets save as UTF-8.
pub(super) const BYTE_ORDER_MARK: &str = "\u{feff}";
/// What stands between fields: ours, a spreadsheet's where the comma is for decimals, and its "text".
const SEPARATORS: [(u8, &str); 3] = [(b',', "commas"), (b';', "semicolons"), (b'\t', "tabs")];

/// The first line of a file.
pub(super) struct Header {
    /// What stands between the names, and between fields.
    pub separator: u8,
    /// Without blank ones at the end.
    pub names: StringRecord,
    /// Fields of every line, the blank ones that a spreadsheet puts at the end among them.
    pub width: usize,
}

/// The header that the first line is by one of the separators; `None` where it is none that is known.
pub(super) fn header(text: &str, is_known: impl Fn(&StringRecord) -> bool) -> Option<Header> {
    let by = |&(separator, _): &(u8, _)| {
        let first = records(text, separator).next()?.ok()?;
        let (names, width) = (without_blank_end(&first, 0), first.len());
        is_known(&names).then_some(Header { separator, names, width })
    };
    SEPARATORS.iter().find_map(by)
}

/// All lines that are not empty, each with its place, the header first. The csv crate drops a byte order mark.
pub(super) fn records(text: &str, separator: u8) -> impl Iterator<Item = csv::Result<StringRecord>> {
    let mut builder = csv::ReaderBuilder::new();
    builder.delimiter(separator).has_headers(false).flexible(true);
    builder.from_reader(text.as_bytes()).into_records()
}

/// A record without the blank fields at its end, but for those among the first `len`.
pub(super) fn without_blank_end(record: &StringRecord, len: usize) -> StringRecord {
    let filled = (0..record.len()).rfind(|&index| !record[index].is_empty()).map_or(0, |last| last + 1);
    let mut cut = record.clone();
    cut.truncate(filled.max(len));
    cut
}

/// Whether these are the names of our columns, in their order.
pub(super) fn is_ours(names: &StringRecord) -> bool {
    columns::known(names).is_some()
}

/// What shows that a spreadsheet saved a file with our columns; `None` where its header is not ours, or as we write it.
pub(super) fn traces(text: &str) -> Option<String> {
    let separator = header(text, is_ours)?.separator;
    let line = text.lines().next().unwrap_or_default();
    let has_crlf = text.get(line.len()..).is_some_and(|rest| rest.starts_with("\r\n"));
    let other = SEPARATORS.iter().find(|(other, _)| separator == *other && separator != b',');
    let separated = other.map(|(_, name)| format!("{name} between fields"));
    let seen = [
        text.starts_with(BYTE_ORDER_MARK).then(|| "a byte order mark".to_owned()),
        separated,
        line.contains('"').then(|| "quoted names".to_owned()),
        line.ends_with(char::from(separator)).then(|| "blank columns".to_owned()),
        has_crlf.then(|| "CRLF line ends".to_owned()),
    ];
    let seen: Vec<String> = seen.into_iter().flatten().collect();
    (!seen.is_empty()).then(|| seen.join(", "))
}
