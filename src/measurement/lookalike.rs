//! Text that a spreadsheet takes for a number, a date, a time, a truth value or a formula; pure.
//!
//! By what LibreOffice 7.4 was seen to do (en-US and de-DE, special numbers detected) and what Excel is described to
//! do. In doubt a text is one: nothing is lost by that but a name.

/// What starts a formula, or what is dropped at a cell's start.
pub(super) const FORMULA_STARTS: [char; 5] = ['=', '+', '-', '@', '\t'];
/// Truth values in English, German, French, Spanish and Italian.
const TRUTHS: [&str; 8] = ["true", "false", "wahr", "falsch", "vrai", "faux", "verdadero", "vero"];
/// Months in English and German, in full; any beginning of three letters or more stands for one.
const MONTHS: &str = "january januar february februar march maerz mrz april may mai june juni july juli august september \
    october oktober november december dezember";

/// Whether a spreadsheet would make something else of it.
#[must_use]
pub fn is_lookalike(text: &str) -> bool {
    let text = text.trim_matches(' ');
    let is_truth = TRUTHS.iter().any(|truth| text.eq_ignore_ascii_case(truth));
    // #N/A and the like are errors.
    text.starts_with(FORMULA_STARTS) || text.starts_with('#') || is_truth || is_number_or_date(text)
}

/// A digit, and nothing that no number, date or time holds: `1.5`, `1/2`, `7e12345`, `Dec-1`, `10:30 PM`.
fn is_number_or_date(text: &str) -> bool {
    let mut has_digit = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        if word > 0 {
            let before = &text[..text.len() - rest.len()];
            if !is_of_a_number(before, &rest[..word].to_ascii_lowercase(), &rest[word..]) {
                return false;
            }
            rest = &rest[word..];
            continue;
        }
        has_digit |= c.is_ascii_digit();
        if !c.is_ascii_digit() && !" .,:;/-+%$()'".contains(c) {
            return false;
        }
        rest = &rest[c.len_utf8()..];
    }
    has_digit
}

/// Whether a word, in lower case, may belong to a number, a date or a time, where it stands.
fn is_of_a_number(before: &str, word: &str, after: &str) -> bool {
    let digit_before = before.trim_end().ends_with(|c: char| c.is_ascii_digit() || c == '.');
    match word {
        "e" => {
            digit_before && after.trim_start().starts_with(|c: char| c.is_ascii_digit() || "+-".contains(c))
        }
        "a" | "p" | "am" | "pm" => digit_before,
        "t" => digit_before && after.contains(':'),
        "z" => before.contains(':'),
        _ => word.len() >= 3 && MONTHS.split(' ').any(|month| month.starts_with(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_spreadsheets_rewrite_is_known() {
        for text in [
            "1",
            "007",
            "15.18",
            "1.234",
            "1,234",
            "1.234,5",
            ".5",
            "5.",
            "1 234",
            "1'234",
            "12%",
            "12 %",
            "$5",
            "5 $",
            "(5)",
            "( 5 )",
            "1e5",
            "1E5",
            "7e12345",
            "0e0",
            "1.e5",
            "1 e5",
            "1e 5",
            "1.8E+308",
            "1,8E+308",
            "1-2",
            "1/2",
            "1 1/2",
            "06/85",
            "10:30",
            "10:30:15",
            "10:30 AM",
            "5PM",
            "5 p",
            "5a",
            "2026-11-30",
            "30.11.2026",
            "1.5.2026",
            "2026-11-30 20:15:30",
            "2026-12-01T02:29:00",
            "2026-12-01T02:29:00Z",
            "Dec-1",
            "dec1",
            "1dec",
            "MAR1",
            "Sept 3",
            "may-2026",
            "Dez-1",
            "1. Dez",
            "30. November 2026",
            "Mrz1",
            "TRUE",
            "true",
            "Wahr",
            "FALSCH",
            "#N/A",
            "=1",
            "=A1",
            "+1",
            "-x",
            "@x",
            "\tx",
            " =1",
        ] {
            assert!(is_lookalike(text), "{text}");
        }
    }

    #[test]
    fn what_stays_text_is_left_alone() {
        for text in [
            "",
            "yes",
            "no",
            "os-cache",
            "ext4",
            "basic",
            "two_phase",
            "g7e12345",
            "g2064f909-dirty",
            "20261201T022900Z-0412",
            "20261130T201530Z-3f2a",
            "20261130T201530Z-1e05",
            "PostgreSQL 15.18",
            "redis 1.8.1",
            "Linux 6.18.44",
            "AMD EPYC",
            "cluster=0",
            "fsync=on, jit=on",
            "_06/85",
            "06/8f",
            "E5",
            "a1",
            "p5",
            "may",
            "March",
            "marvin-1",
            "0x10",
            "sun-4",
            "ledger-bench 0.2.0",
            "Intel(R) Xeon(R) @ 2.20GHz",
            "10 retries by the server",
            "lab-7",
            "ma1",
            "1_000",
        ] {
            assert!(!is_lookalike(text), "{text}");
        }
    }
}
