//! A comparison as a page.

use super::{
    analysis::Run,
    comparison::{Comparison, Line, Side},
    page::{Column, Grid, Group, Page},
    table, words,
};

impl Comparison {
    /// For the terminal and for Markdown.
    #[must_use]
    pub fn page(&self) -> Page {
        let subject = format!("Old: {}; new: {}", runs(&self.old_runs), runs(&self.new_runs));
        let mut page = Page { alarms: self.alarms.clone(), subject, ..Page::default() };
        if self.lines.is_empty() {
            page.note("No case is on both sides.", vec!["There is nothing to compare.".into()]);
        } else {
            page.grids.push(self.grid());
        }
        let is_unproven = |line: &Line| words::ratio(&line.ratio).ends_with('?');
        if self.lines.iter().any(is_unproven) {
            page.note("Notes:", vec![words::UNPROVEN_NOTE.into()]);
        }
        page.note("Only old:", self.only_old.clone());
        page.note("Only new:", self.only_new.clone());
        page.note("Failed in the old rows, and in no figure above:", table::failed(&self.failed_old));
        page.note("Failed in the new rows, and in no figure above:", table::failed(&self.failed_new));
        page
    }

    fn grid(&self) -> Grid {
        let columns = vec![
            Column::text("system", 0),
            Column::number("old", 0),
            Column::number("old, 95 %", 3),
            Column::number("new", 0),
            Column::number("new, 95 %", 2),
            Column::number("rounds", 4),
            Column::text("new is", 0),
            Column::number("p", 1),
        ];
        let mut groups: Vec<Group> = Vec::new();
        for line in &self.lines {
            if groups.last().is_none_or(|group| group.title != line.case) {
                groups.push(Group { title: line.case.clone(), lines: Vec::new() });
            }
            groups.last_mut().expect("just made").lines.push(fields(line));
        }
        Grid { title: String::new(), group_title: "case", columns, groups }.without_blank_columns()
    }
}

fn fields(line: &Line) -> Vec<String> {
    let interval = |side: &Side| side.ns_per_op_interval.map(words::time_interval).unwrap_or_default();
    vec![
        line.system.clone(),
        words::time(line.old.ns_per_op),
        interval(&line.old),
        words::time(line.new.ns_per_op),
        interval(&line.new),
        format!("{}+{}", line.old.rounds, line.new.rounds),
        words::ratio(&line.ratio),
        format!("{:.3}", line.ratio.p),
    ]
}

fn runs(runs: &[Run]) -> String {
    match runs {
        [] => "nothing".into(),
        [run] => run.run_id.clone(),
        [first, .., last] => format!("{} runs, {} to {}", runs.len(), first.run_id, last.run_id),
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        measurement::Measurement,
        report::{compare, markdown, samples, text},
    };

    fn old_and_new() -> (Vec<Measurement>, Vec<Measurement>) {
        let old = samples::run();
        let mut new: Vec<_> =
            samples::run().into_iter().map(|row| Measurement { run_id: "run-2".into(), ..row }).collect();
        for row in new.iter_mut().filter(|row| row.system == "redis") {
            row.ns_per_op = row.ns_per_op.map(|ns_per_op| ns_per_op * 3 / 2);
        }
        new.retain(|row| row.benchmark == "basic" || row.system == "postgres");
        (old, new)
    }

    #[test]
    fn a_comparison_as_text() {
        let (old, new) = old_and_new();
        let expected = include_str!("../../tests/snapshots/comparison.txt");
        assert_eq!(text::render(&compare(&old, &new, false).page(), 160), expected);
    }

    #[test]
    fn a_comparison_as_markdown() {
        let (old, new) = old_and_new();
        let expected = include_str!("../../tests/snapshots/comparison.md");
        assert_eq!(markdown::render(&compare(&old, &new, false).page()), expected);
    }

    #[test]
    fn nothing_in_common_is_said() {
        let (old, new) = (samples::rows("basic", "redis", &[1]), samples::rows("basic", "postgres", &[1]));
        let text = text::render(&compare(&old, &new, false).page(), 80);
        assert!(
            text.contains("No case is on both sides.") && text.contains("Only old:\n  seed basic, redis\n"),
            "{text}"
        );
    }
}
