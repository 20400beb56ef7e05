//! A page as Markdown, with the tables of GitHub's flavour; pure.

use std::fmt::Write;

use super::page::{Column, Grid, Page};

/// Every column is there, however wide.
#[must_use]
pub fn render(page: &Page) -> String {
    let alarms = page.alarms.iter().map(|alarm| format!("> **{}**\n", plain(alarm)));
    let mut parts: Vec<String> = vec![alarms.collect::<Vec<_>>().join(">\n")];
    parts.push(line_of(&plain(&page.subject)));
    parts.push(line_of(&plain(&page.headlines.join(" "))));
    parts.extend(page.grids.iter().flat_map(|grid| [line_of(&plain(&grid.title)), table(grid)]));
    for notes in &page.notes {
        parts.push(line_of(&plain(&notes.title)));
        let lines: Vec<String> = notes.lines.iter().map(|line| format!("- {}\n", plain(line))).collect();
        parts.push(lines.concat());
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn line_of(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{text}\n") }
}

fn table(grid: &Grid) -> String {
    let mut text = String::new();
    let titles = grid.columns.iter().map(|column| column.title.as_str());
    row(&mut text, std::iter::once(grid.group_title).chain(titles));
    let rule = |column: &Column| if column.is_number { "---:" } else { "---" };
    let _ = writeln!(text, "|---|{}|", grid.columns.iter().map(rule).collect::<Vec<_>>().join("|"));
    for group in &grid.groups {
        for fields in &group.lines {
            row(&mut text, std::iter::once(group.title.as_str()).chain(fields.iter().map(String::as_str)));
        }
    }
    text
}

fn row<'a>(text: &mut String, fields: impl Iterator<Item = &'a str>) {
    let fields: Vec<String> = fields.map(plain).collect();
    let _ = writeln!(text, "| {} |", fields.join(" | "));
}

/// Text that means nothing but itself.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '<' => plain += "&lt;",
            '&' => plain += "&amp;",
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => plain.extend(['\\', c]),
            c if c.is_control() => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::page::Group;

    #[test]
    fn a_page_in_markdown() {
        let columns = vec![Column::text("system", 0), Column::number("time/op", 0)];
        let line = vec!["a|b".into(), "1 <us".into()];
        let groups = vec![Group { title: "two_phase".into(), lines: vec![line.clone(), line] }];
        let grid = Grid { title: String::new(), group_title: "case", columns, groups };
        let mut page = Page {
            alarms: vec!["A".into(), "B".into()],
            subject: "Run 1".into(),
            headlines: vec!["One.".into(), "Two.".into()],
            grids: vec![grid],
            notes: Vec::new(),
        };
        page.note("Notes:", vec!["x".into(), "y".into()]);
        let expected = r"> **A**
>
> **B**

Run 1

One. Two.

| case | system | time/op |
|---|---|---:|
| two\_phase | a\|b | 1 &lt;us |
| two\_phase | a\|b | 1 &lt;us |

Notes:

- x
- y
";
        assert_eq!(render(&page), expected);
    }
}
