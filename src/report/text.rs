//! A page as text for a terminal; pure.

use std::fmt::Write;

use super::page::{Column, Grid, Page};

const GAP: &str = "  ";

/// At most `width` columns wide where that is possible: what has no room is left out, and said to be.
#[must_use]
pub fn render(page: &Page, width: usize) -> String {
    let mut text = String::new();
    for alarm in &page.alarms {
        let _ = writeln!(text, "!! {alarm}");
    }
    if !page.subject.is_empty() {
        let _ = writeln!(text, "{}", page.subject);
    }
    if !page.headlines.is_empty() {
        let _ = writeln!(text, "\n{}", page.headlines.join("\n"));
    }
    for grid in &page.grids {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &self::grid(grid.clone(), width);
    }
    for notes in &page.notes {
        let _ = writeln!(text, "\n{}", notes.title);
        for line in &notes.lines {
            let _ = writeln!(text, "  {line}");
        }
    }
    harmless(&text)
}

fn grid(mut grid: Grid, width: usize) -> String {
    let mut left_out = Vec::new();
    while line_width(&widths(&grid)) > width
        && let Some(index) = least_needed(&grid.columns)
    {
        left_out.push(grid.remove_column(index).title);
    }
    let widths = widths(&grid);
    let mut text = String::new();
    if !grid.title.is_empty() {
        let _ = writeln!(text, "{}", grid.title);
    }
    let head: Vec<String> = grid.columns.iter().map(|column| column.title.clone()).collect();
    text += &line(&head, &grid.columns, &widths);
    for group in &grid.groups {
        let _ = write!(text, "\n{}\n", group.title);
        for fields in &group.lines {
            text += &line(fields, &grid.columns, &widths);
        }
    }
    if !left_out.is_empty() {
        let _ = writeln!(text, "\nLeft out, as {width} columns hold no more: {}.", left_out.join(", "));
    }
    text
}

fn least_needed(columns: &[Column]) -> Option<usize> {
    let (index, column) = columns.iter().enumerate().max_by_key(|(_, column)| column.rank)?;
    (column.rank > 0).then_some(index)
}

fn widths(grid: &Grid) -> Vec<usize> {
    let lines = || grid.groups.iter().flat_map(|group| &group.lines);
    let widest = |(index, column): (usize, &Column)| {
        let fields = lines().flat_map(|line| line[index].lines()).map(|line| line.chars().count());
        fields.max().unwrap_or(0).max(column.title.chars().count())
    };
    grid.columns.iter().enumerate().map(widest).collect()
}

fn line_width(widths: &[usize]) -> usize {
    widths.iter().map(|width| GAP.len() + width).sum()
}

fn line(fields: &[String], columns: &[Column], widths: &[usize]) -> String {
    let height = fields.iter().map(|field| field.lines().count()).max().unwrap_or(0).max(1);
    let mut text = String::new();
    for part in 0..height {
        let mut line = String::new();
        for ((field, column), &width) in fields.iter().zip(columns).zip(widths) {
            let field = field.lines().nth(part).unwrap_or_default();
            let _ = if column.is_number {
                write!(line, "{GAP}{field:>width$}")
            } else {
                write!(line, "{GAP}{field:<width$}")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Nothing from a file reaches a terminal as a command to it.
fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::page::Group;

    fn page() -> Page {
        let group = |title: &str, lines: &[[&str; 3]]| Group {
            title: title.into(),
            lines: lines.iter().map(|line| line.map(String::from).to_vec()).collect(),
        };
        let columns = vec![Column::text("name", 0), Column::number("count", 2), Column::text("remark", 1)];
        let groups = vec![
            group("first", &[["a", "1", ""], ["bb", "1000000", "large"]]),
            group("second", &[["c", "", "x\nyy"]]),
        ];
        let grid = Grid { title: "Things".into(), group_title: "group", columns, groups };
        let mut page = Page {
            alarms: vec!["MIND".into()],
            subject: "All".into(),
            headlines: vec!["One.".into(), "Two.".into()],
            grids: vec![grid],
            notes: Vec::new(),
        };
        page.note("Also:", vec!["it \u{1b}[31mis".into()]);
        page.note("Never:", Vec::new());
        page
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_field() {
        let expected = "\
!! MIND
All

One.
Two.

Things
  name    count  remark

first
  a           1
  bb    1000000  large

second
  c              x
                 yy

Also:
  it ?[31mis
";
        assert_eq!(render(&page(), 23), expected);
    }

    #[test]
    fn what_has_no_room_is_left_out_and_named() {
        let text = render(&page(), 22);
        assert!(text.contains("\n  name  remark\n") && !text.contains("1000000"), "{text}");
        assert!(text.contains("\nLeft out, as 22 columns hold no more: count.\n"), "{text}");
        let text = render(&page(), 1);
        assert!(text.contains("\n  name\n") && text.contains("no more: count, remark."), "{text}");
    }

    #[test]
    fn blank_columns_go() {
        let mut grid = page().grids.remove(0);
        for line in grid.groups.iter_mut().flat_map(|group| &mut group.lines) {
            line[1].clear();
        }
        let titles: Vec<_> =
            grid.without_blank_columns().columns.into_iter().map(|column| column.title).collect();
        assert_eq!(titles, ["name", "remark"]);
    }
}
