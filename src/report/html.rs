//! The analysis as one HTML file: no script, no network; for screens, phones and paper, light and
//! dark. Every text of the rows goes through [`escaped`].

use std::fmt::Write;

use clap::ValueEnum;

use super::{
    analysis::{Analysis, Case, Series},
    case::{CaseKey, proper_name},
    page::{Grid, Group, Page},
    table, words,
};
use crate::{
    machine::Machine,
    plan::{Benchmark, Suite},
};

mod answer;
mod axis;
mod charts;
mod guarantees;

const STYLE: &str = include_str!("html/style.css");

/// Stands in every file of ours, and near its start.
pub const MARK: &str = "<meta name=\"generator\" content=\"ledger-bench\">";

/// The whole file.
#[must_use]
pub fn render(analysis: &Analysis) -> String {
    let page = table::page(analysis);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         {MARK}\n<title>ledger-bench: TigerBeetle, Redis and PostgreSQL</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>How fast money moves</h1>\n<p>{}</p>\n",
        escaped(&page.subject)
    );
    for alarm in &page.alarms {
        let _ = writeln!(html, "<p class=\"alarm\">{}</p>", escaped(alarm));
    }
    let _ = writeln!(html, "<p class=\"answer\">{}</p>", escaped(&answer::sentences(analysis).join(" ")));
    // The first grid is that of the cases, where there are any.
    let (of_cases, others) = page.grids.split_at(usize::from(!analysis.cases.is_empty()));
    for grid in of_cases {
        html.extend(analysis.cases.iter().zip(&grid.groups).map(|(case, group)| section(case, grid, group)));
    }
    for grid in others {
        let _ = writeln!(html, "<h2>{}</h2>", escaped(&grid.title));
        for group in &grid.groups {
            html += &lines(grid, group);
        }
    }
    html.extend(analysis.machines.iter().map(machine));
    html += &notes(&page);
    html + "</body>\n</html>\n"
}

/// One case: its figures as charts and as a table, and what they were measured at.
fn section(case: &Case, grid: &Grid, group: &Group) -> String {
    // A floor is one line: its figures say all.
    let charts = if case.key.suite == Suite::Floor.name() {
        String::new()
    } else {
        [charts::bars(case), charts::latencies(case), charts::rounds(case)].concat()
    };
    format!(
        "<section>\n<h2>{}</h2>\n<p>{}</p>\n<div class=\"charts\">\n{charts}</div>\n{}{}<p>Again: <code>{}</code></p>\n\
         </section>\n",
        escaped(&case.label),
        escaped(&guarantees::of(&case.key)),
        lines(grid, group),
        servers(case),
        escaped(&command(case)),
    )
}

/// A group of a grid as a table.
fn lines(grid: &Grid, group: &Group) -> String {
    let heads =
        grid.columns.iter().map(|column| format!("<th scope=\"col\">{}</th>", escaped(&column.title)));
    let mut html = format!("<div class=\"wide\"><table>\n<tr>{}</tr>\n", heads.collect::<String>());
    for line in &group.lines {
        let fields = line.iter().zip(&grid.columns).map(|(field, column)| {
            let class = if column.is_number { " class=\"number\"" } else { "" };
            format!("<td{class}>{}</td>", escaped(field))
        });
        let _ = writeln!(html, "<tr>{}</tr>", fields.collect::<String>());
    }
    html + "</table></div>\n"
}

/// What each system was, as its server said.
fn servers(case: &Case) -> String {
    let line = |series: &Series| {
        let told = [&series.server_version, &series.client_version, &series.server_settings];
        let told: Vec<_> =
            told.into_iter().filter(|text| !text.is_empty()).map(|text| escaped(text)).collect();
        format!("<li>{}: {}</li>\n", escaped(&words::series_name(series)), told.join("; "))
    };
    let lines: String = case.series.iter().map(line).collect();
    format!(
        "<details><summary>Servers, clients and their settings</summary>\n<ul>\n{lines}</ul>\n</details>\n"
    )
}

/// What is known of a machine, as a table.
fn machine(machine: &Machine) -> String {
    let line = |(name, value): (&str, String)| {
        format!("<tr><th scope=\"row\">{name}</th><td>{}</td></tr>\n", escaped(&value))
    };
    let lines: String = machine.known().into_iter().map(line).collect();
    format!(
        "<section>\n<h2>The machine</h2>\n<div class=\"wide\"><table>\n{lines}</table></div>\n</section>\n"
    )
}

/// What measures this case again.
fn command(case: &Case) -> String {
    let CaseKey {
        suite,
        benchmark,
        durability,
        clients,
        in_flight,
        batch,
        accounts,
        skew_pct,
        transport,
        ..
    } = &case.key;
    let mut systems: Vec<_> = case.series.iter().map(|series| series.system.as_str()).collect();
    systems.dedup();
    let mut command = format!("./run.sh --suite {suite} --benchmark {benchmark}");
    if suite != Suite::Floor.name() {
        let _ = write!(command, " --system {}", systems.join(","));
    }
    let takes = Benchmark::from_str(benchmark, false).ok();
    let is_ledger = suite == "ledger";
    let flags = [
        (is_ledger, "durability", durability.clone()),
        (takes.is_some_and(Benchmark::takes_clients) && *clients > 0, "clients", clients.to_string()),
        (takes.is_some_and(Benchmark::takes_in_flight) && *in_flight > 1, "in-flight", in_flight.to_string()),
        (takes.is_some_and(Benchmark::takes_batch), "batch", batch.to_string()),
        (is_ledger, "accounts", accounts.to_string()),
        (!transport.is_empty(), "transport", transport.clone()),
        (*skew_pct > 0, "skew", format!("{}.{:02}", skew_pct / 100, skew_pct % 100)),
    ];
    for (_, flag, value) in flags.iter().filter(|(is_asked, ..)| *is_asked) {
        let _ = write!(command, " --{flag} {value}");
    }
    command
}

fn notes(page: &Page) -> String {
    let note = |notes: &super::page::Notes| {
        let lines: Vec<_> = notes.lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
        let lines = lines.concat();
        format!("<h2>{}</h2>\n<ul>\n{lines}</ul>\n", escaped(notes.title.trim_end_matches(':')))
    };
    page.notes.iter().filter(|notes| !notes.lines.is_empty()).map(note).collect()
}

/// A series as people call its system.
fn name(series: &Series) -> String {
    let proper = proper_name(&series.system);
    if series.distinction.is_empty() { proper.into() } else { format!("{proper} ({})", series.distinction) }
}

/// Text that is nothing but text, in an element or in a quoted attribute.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\'' => html += "&#39;",
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests;
