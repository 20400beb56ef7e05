//! The file of rows: appending one, and mending what a crash left.

use std::{
    fs::{self, File, OpenOptions},
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow};

use super::{Measurement, csv_lines, header, read::why_foreign, sheet::faults};
use crate::error::{bad_input, say};

/// Refuses, before anything is measured, a file that rows cannot be appended to, or a disk
/// without room. Leaves the file as it is, and makes none.
pub fn check_appendable(path: &Path) -> Result<()> {
    check_file(path)?;
    probe_space(path)
}

/// The part of it that asks the file alone.
pub fn check_file(path: &Path) -> Result<()> {
    let refuse = |why: &str| Err(bad_input(format!("--csv {}: {why}", path.display())));
    match fs::metadata(path) {
        Ok(kind) if kind.is_dir() => return refuse("is a folder, name a file in it"),
        // Opening a pipe would wait for its reader.
        Ok(kind) if !kind.is_file() => return refuse("is not a regular file"),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return if path.is_symlink() { refuse("is a link to a file that is not there") } else { Ok(()) };
        }
        Err(error) => return refuse(&format!("cannot be written: {error}")),
    }
    match OpenOptions::new().read(true).append(true).open(path) {
        Ok(mut file) => check_header(&mut file, path).map(drop),
        Err(error) => refuse(&format!("cannot be written: {error}")),
    }
}

/// Room that must be left on the disk: more than any run's rows take.
static SPACE_PROBE: [u8; 64 * 1024] = [b'\n'; 64 * 1024];

/// A full or read-only disk shows itself by a short-lived file beside the CSV. A folder that
/// takes no new file is no fault when the CSV itself is there already.
fn probe_space(path: &Path) -> Result<()> {
    let probe = sibling(path, &format!(".probe-{}", std::process::id()));
    let written = File::create_new(&probe).and_then(|mut file| {
        let written = file.write_all(&SPACE_PROBE).and_then(|()| file.sync_all());
        fs::remove_file(&probe).and(written)
    });
    match written {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied && path.exists() => Ok(()),
        Err(error) => {
            Err(bad_input(format!("--csv {}: its folder cannot be written: {error}", path.display())))
        }
    }
}

fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// What a file begins with.
#[derive(Debug, PartialEq, Eq)]
enum Start {
    /// Nothing yet, or a header that was torn while it was written.
    NoHeader,
    /// Our header.
    Header,
}

/// As much of a file as holds its header and its first row.
const START_LEN: usize = 64 * 1024;

fn check_header(file: &mut File, path: &Path) -> Result<Start> {
    let expected = header()?;
    let mut start = vec![0; START_LEN];
    file.seek(SeekFrom::Start(0))?;
    let len = read_up_to(file, &mut start)?;
    let start = &start[..len];
    if expected.as_bytes().starts_with(start) {
        return Ok(Start::NoHeader);
    }
    let rest = start.strip_prefix(expected.as_bytes()).and_then(|rest| rest.strip_prefix(b"\n"));
    let Some(rest) = rest else { return Err(foreign(path, &why_foreign(start))) };
    match first_line(rest).map(|line| faults(&line)).unwrap_or_default().first() {
        None => Ok(Start::Header),
        Some(fault) => {
            Err(foreign(path, &format!("its first row was rewritten, by a spreadsheet perhaps: {fault}")))
        }
    }
}

/// `None` where the first line has no end: it may be torn.
fn first_line(text: &[u8]) -> Option<String> {
    let end = text.iter().position(|&byte| byte == b'\n')?;
    Some(String::from_utf8_lossy(&text[..end]).into_owned())
}

fn foreign(path: &Path, why: &str) -> anyhow::Error {
    bad_input(format!(
        "{} is left as it is: {why}: name another file by --csv, or move this one away",
        path.display()
    ))
}

fn read_up_to(file: &mut File, buffer: &mut [u8]) -> Result<usize> {
    let mut len = 0;
    while len < buffer.len() {
        match file.read(&mut buffer[len..])? {
            0 => break,
            read => len += read,
        }
    }
    Ok(len)
}

/// Appends one row by one write, under a lock that all writers of the file share. Mends a last
/// line that an earlier crash left torn, and takes back what a full disk cut off. A row that a spreadsheet would
/// misread is an error, and nothing is written: what makes rows has to make them plain.
pub fn append(path: &Path, row: &Measurement) -> Result<()> {
    let context = || format!("appending a row to {}", path.display());
    let line = csv_lines(std::slice::from_ref(row), false)?;
    if let Some(fault) = faults(&line).first() {
        return Err(anyhow!("no row is written that a spreadsheet would misread: {fault}").context(context()));
    }
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).open(path).with_context(context)?;
    file.lock().with_context(context)?;
    let text = if check_header(&mut file, path)? == Start::NoHeader {
        file.set_len(0).with_context(context)?;
        header()? + "\n"
    } else {
        mend_last_line(&mut file, path).with_context(context)?
    };
    let text = text + &line;
    let len = file.metadata()?.len();
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_data());
    if written.is_err() {
        // A part of a row is worse than none; what was there before stays.
        file.set_len(len).with_context(context)?;
    }
    written.with_context(context)
}

/// A last line without an end was torn: it is moved to a file beside, byte for byte. If it holds
/// every field its row is kept, but for the last field, which may have been cut short: that row
/// is returned, to be written again.
fn mend_last_line(file: &mut File, path: &Path) -> Result<String> {
    let mut text = Vec::new();
    let len = file.metadata()?.len();
    // A row is about a kilobyte: look at the end only, however long the file is.
    file.seek(SeekFrom::Start(len.saturating_sub(64 * 1024)))?;
    file.read_to_end(&mut text)?;
    if text.last() == Some(&b'\n') {
        return Ok(String::new());
    }
    let line_start = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let torn = &text[line_start..];
    let rescue = sibling(path, ".torn");
    let mut rescued = OpenOptions::new().append(true).create(true).open(&rescue)?;
    rescued.write_all(torn)?;
    rescued.write_all(b"\n")?;
    rescued.sync_data()?;
    let kept = match parse_row(torn) {
        Some(row) => csv_lines(&[Measurement { filesystem: String::new(), ..row }], false)?,
        None => String::new(),
    };
    file.set_len(len - torn.len() as u64)?;
    say(&format!("{}: its last line was torn and was moved to {}", path.display(), rescue.display()));
    Ok(kept)
}

fn parse_row(line: &[u8]) -> Option<Measurement> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(line);
    reader.deserialize().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::{SCHEMA, columns, read};

    fn row(round: u32) -> Measurement {
        Measurement {
            schema: SCHEMA,
            round,
            benchmark: "basic".into(),
            verified: "yes".into(),
            server_settings: "fsync=on, jit=on".into(),
            filesystem: "ext4".into(),
            ..Measurement::default()
        }
    }

    /// With a moment.
    fn timed(round: u32) -> Measurement {
        let started_unix_s = 1_796_069_730;
        Measurement { started_unix_s, started_utc: "2026-11-30 20:15:30".into(), ..row(round) }
    }

    struct Scratch(tempfile::TempDir);

    impl Scratch {
        fn new() -> Self {
            Self(tempfile::tempdir().expect("a scratch folder"))
        }
        fn csv(&self) -> PathBuf {
            self.0.path().join("r.csv")
        }
        fn with(text: &str) -> (Self, PathBuf) {
            let scratch = Self::new();
            let path = scratch.csv();
            fs::write(&path, text).expect("written");
            (scratch, path)
        }
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).expect("readable")
    }

    #[test]
    fn rows_read_back_as_they_were_written() {
        let scratch = Scratch::new();
        for round in 1..=3 {
            append(&scratch.csv(), &row(round)).expect("appended");
        }
        assert_eq!(read(&scratch.csv()).expect("read"), [row(1), row(2), row(3)]);
        let text = text(&scratch.csv());
        assert!(text.starts_with("schema,") && text.ends_with('\n') && !text.contains('\r'));
        assert!(text.contains(",\"fsync=on, jit=on\","));
        assert_eq!(text.lines().count(), 4);
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let scratch = Scratch::new();
        std::os::unix::fs::symlink(scratch.0.path().join("gone/r.csv"), scratch.csv()).expect("linked");
        let told = check_file(&scratch.csv()).expect_err("a link to nothing").to_string();
        assert!(told.ends_with("is a link to a file that is not there"), "{told}");
    }

    #[test]
    fn writers_at_once_lose_nothing() {
        let scratch = Scratch::new();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = scratch.csv();
                scope.spawn(move || {
                    for round in 0..25 {
                        append(&path, &row(writer * 100 + round)).expect("appended");
                    }
                });
            }
        });
        let mut rounds: Vec<_> = read(&scratch.csv()).expect("read").iter().map(|row| row.round).collect();
        rounds.sort_unstable();
        let expected: Vec<u32> =
            (0..4).flat_map(|writer| (0..25).map(move |round| writer * 100 + round)).collect();
        assert_eq!(rounds, expected);
    }

    #[test]
    fn a_torn_row_is_moved_aside_and_the_others_stay() {
        let scratch = Scratch::new();
        append(&scratch.csv(), &row(1)).expect("appended");
        let whole = text(&scratch.csv());
        fs::write(scratch.csv(), format!("{whole}1,2026,torn")).expect("written");
        append(&scratch.csv(), &row(2)).expect("appended");
        assert_eq!(read(&scratch.csv()).expect("read"), [row(1), row(2)]);
        assert_eq!(text(&sibling(&scratch.csv(), ".torn")), "1,2026,torn\n");
    }

    #[test]
    fn every_torn_length_of_a_file_is_mended_without_a_wrong_value() {
        let scratch = Scratch::new();
        append(&scratch.csv(), &row(1)).expect("appended");
        let whole = text(&scratch.csv());
        let header_len = header().expect("serializes").len();
        for len in 0..whole.len() {
            let (_scratch, path) = Scratch::with(&whole[..len]);
            check_appendable(&path).expect("a torn file is ours");
            append(&path, &row(2)).expect("appended");
            let rows = read(&path).expect("read");
            let kept = Measurement { filesystem: String::new(), ..row(1) };
            // All fields but the last are whole once the comma before the last one is there.
            if len >= whole.len() - "ext4\n".len() {
                assert_eq!(rows, [kept, row(2)], "torn at {len}");
            } else {
                assert_eq!(rows, [row(2)], "torn at {len}");
            }
            let rescue = sibling(&path, ".torn");
            if len > header_len + 1 {
                assert_eq!(text(&rescue), format!("{}\n", &whole[header_len + 1..len]));
            } else {
                assert!(!rescue.exists());
            }
        }
    }

    #[test]
    fn foreign_files_are_refused_and_left_alone() {
        let ours = header().expect("serializes");
        let newer = format!("{ours},more\n{}{}\n", SCHEMA + 1, ",".repeat(columns().len()));
        let whole = format!("{ours}\n{}", csv_lines(&[timed(1)], false).expect("serializes"));
        let semicolons = whole.replace("on, jit", "on jit").replace(',', ";");
        let saved = "a spreadsheet saved it, with ";
        let texts = [
            ("name,age\nx,1\n", "header is not this program's".to_owned()),
            (newer.as_str(), format!("of schema {}, this program writes schema {SCHEMA}", SCHEMA + 1)),
            (&format!("{ours}\r\n"), format!("{saved}CRLF line ends")),
            (&whole.replace('\n', "\r\n"), format!("{saved}CRLF line ends")),
            (&semicolons, format!("{saved}semicolons between fields")),
            (&ours.replace(',', "\t"), format!("{saved}tabs between fields")),
            (&format!("\u{feff}{whole}"), format!("{saved}a byte order mark")),
            (&whole.replacen("schema", "\"schema\"", 1), format!("{saved}quoted names")),
            (&whole.replacen('\n', ",,\n", 1), format!("{saved}blank columns")),
            (
                &format!("\u{feff}{}", semicolons.replace('\n', ";\r\n")),
                format!("{saved}a byte order mark, semicolons between fields, blank columns, CRLF line ends"),
            ),
            (
                &whole.replace("2026-11-30", "11/30/26"),
                "its first row was rewritten, by a spreadsheet perhaps: started_utc: ".into(),
            ),
            (
                &format!("{ours}\n{}", whole.split_once('\n').expect("two lines").1.replace('\n', "\r\n")),
                "its first row was rewritten".into(),
            ),
            ("\u{feff}schema", "header is not this program's".into()),
            ("\n\n", "holds no header and no rows".into()),
        ];
        for (before, why) in texts {
            let (_scratch, path) = Scratch::with(before);
            for refused in [check_appendable(&path), append(&path, &row(1))] {
                let message = format!("{:#}", refused.expect_err(before));
                assert!(message.contains(&why), "{message}");
            }
            assert_eq!(text(&path), before);
        }
    }

    #[test]
    fn a_row_that_would_be_misread_is_not_written() {
        let scratch = Scratch::new();
        append(&scratch.csv(), &row(1)).expect("appended");
        let before = text(&scratch.csv());
        for (faulty, why) in [
            (Measurement { host: "dec-1".into(), ..row(2) }, "host: \"dec-1\" is a number, a date"),
            (Measurement { ops: Some(u64::MAX), ..row(2) }, "ops: \"18446744073709551615\" has more digits"),
        ] {
            let told = crate::error::one_line(&append(&scratch.csv(), &faulty).expect_err("refused"));
            assert!(told.contains("r.csv: no row is written that a spreadsheet would misread: "), "{told}");
            assert!(told.contains(why), "{told}");
        }
        assert_eq!(text(&scratch.csv()), before);
    }

    #[test]
    fn a_place_that_cannot_take_a_file_is_known_beforehand() {
        let scratch = Scratch::new();
        let message = |path: &Path| format!("{:#}", check_appendable(path).expect_err("refused"));
        assert!(message(scratch.0.path()).contains("is a folder"));
        assert!(message(&scratch.csv().join("x.csv")).contains("cannot be written"));
        assert!(message(&scratch.0.path().join("no/x.csv")).contains("its folder cannot be written"));
        assert!(message(Path::new("/dev/full")).contains("is not a regular file"));
        check_appendable(&scratch.csv()).expect("a new file is fine");
        assert_eq!(fs::read_dir(scratch.0.path()).expect("listed").count(), 0, "nothing was made");
    }

    #[test]
    fn a_writer_waits_for_the_lock() {
        let scratch = Scratch::new();
        append(&scratch.csv(), &row(1)).expect("appended");
        let line = csv_lines(&[row(2)], false).expect("serializes");
        let (first, rest) = line.split_at(line.len() / 2);
        let mut other = OpenOptions::new().append(true).open(scratch.csv()).expect("opened");
        other.lock().expect("locked");
        other.write_all(first.as_bytes()).expect("written");
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| append(&scratch.csv(), &row(3)));
            // Every chance to go ahead, half a row being there.
            for _ in 0..20_000 {
                std::thread::yield_now();
            }
            other.write_all(rest.as_bytes()).expect("written");
            other.unlock().expect("unlocked");
            writer.join().expect("no panic").expect("appended");
        });
        assert_eq!(read(&scratch.csv()).expect("read"), [row(1), row(2), row(3)]);
        assert!(!sibling(&scratch.csv(), ".torn").exists());
    }

    #[test]
    fn what_was_torn_before_stays_beside() {
        let scratch = Scratch::new();
        for torn in ["1,first", "1,second"] {
            append(&scratch.csv(), &row(1)).expect("appended");
            let whole = text(&scratch.csv());
            fs::write(scratch.csv(), whole + torn).expect("written");
        }
        append(&scratch.csv(), &row(1)).expect("appended");
        assert_eq!(text(&sibling(&scratch.csv(), ".torn")), "1,first\n1,second\n");
    }

    #[test]
    fn a_long_torn_row_is_found_to_its_start() {
        let scratch = Scratch::new();
        append(&scratch.csv(), &row(1)).expect("appended");
        append(&scratch.csv(), &Measurement { warnings: "w".repeat(8_000), ..row(1) }).expect("appended");
        let whole = text(&scratch.csv());
        let torn = &whole[..whole.len() - 20];
        fs::write(scratch.csv(), torn).expect("written");
        append(&scratch.csv(), &row(2)).expect("appended");
        assert_eq!(read(&scratch.csv()).expect("read"), [row(1), row(2)]);
        let torn_line = torn.lines().last().expect("a line");
        assert_eq!(text(&sibling(&scratch.csv(), ".torn")), format!("{torn_line}\n"));
    }
}
