//! The analysis as one HTML file: no script, no network; for screens, phones and paper, light and
//! dark. Every text of the rows goes through [`escaped`].

use std::fmt::Write;

use clap::ValueEnum;

use super::{
    analysis::{Analysis, Case, Series},
    case::proper_name,
    map,
    page::{Column, Grid, Group, Notes, Page},
    table, words,
};
use crate::{
    ledger::{Style, System},
    plan::{Benchmark, Suite},
};

mod answer;
mod axis;
mod charts;
mod curves;
mod grids;
mod guarantees;
mod machine;
mod timelines;

const STYLE: &str = include_str!("html/style.css");

/// Has the browser see to it that there is neither script nor network, whatever the rows hold.
const NOTHING_FETCHED: &str = "<meta http-equiv=\"Content-Security-Policy\" \
    content=\"default-src 'none'; style-src 'unsafe-inline'\">";

/// Stands in every file of ours, and near its start.
pub const MARK: &str = "<meta name=\"generator\" content=\"ledger-bench\">";

/// The whole file.
#[must_use]
pub fn render(analysis: &Analysis) -> String {
    let page = table::without_map(analysis);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         {NOTHING_FETCHED}\n{MARK}\n<title>ledger-bench: TigerBeetle, Redis and PostgreSQL</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <h1>How fast money moves</h1>\n<p>{}</p>\n",
        escaped(&page.subject)
    );
    for alarm in &page.alarms {
        let _ = writeln!(html, "<p class=\"alarm\">{}</p>", escaped(alarm));
    }
    let of_map = analysis.map.as_ref();
    html += &of_map.map(grids::answer).unwrap_or_default();
    let _ = writeln!(html, "<p class=\"answer\">{}</p>", escaped(&answer::sentences(analysis).join(" ")));
    html += &of_map.map(grids::sections).unwrap_or_default();
    html += &folded(analysis);
    // The first grid is that of the cases, where there are any.
    let cases = table::outside_the_map(analysis);
    let (of_cases, others) = page.grids.split_at(usize::from(!cases.is_empty()));
    html.extend(of_cases.iter().map(|grid| sections(&cases, grid)));
    for grid in others {
        let _ = writeln!(html, "<h2>{}</h2>", escaped(&grid.title));
        for group in &grid.groups {
            let _ = writeln!(html, "<h3>{}</h3>", escaped(&group.title));
            html += &lines(grid, group);
        }
    }
    if analysis.calibration.is_some() {
        html += "<p>The load generators again: <code>./run.sh calibrate</code></p>\n";
    }
    html += &machine::sections(analysis);
    html += &notes(&page);
    html + "</body>\n</html>\n"
}

/// The cells of a map, case by case.
fn folded(analysis: &Analysis) -> String {
    let cases: Vec<&Case> = analysis.cases.iter().filter(|case| map::holds(&case.key)).collect();
    if cases.is_empty() {
        return String::new();
    }
    let sections = sections(&cases, &table::grid(&cases));
    format!(
        "<details class=\"cases\"><summary>The {} cases of the map one by one: latencies, rounds, settings, and what \
         measures each again</summary>\n{sections}</details>\n",
        cases.len()
    )
}

fn sections(cases: &[&Case], grid: &Grid) -> String {
    let sections = table::grouped(cases).zip(&grid.groups);
    sections.map(|(cases, group)| section(cases[0], grid, group)).collect()
}

/// One case: its figures as charts and as a table, and what they were measured at. Of floors, each of which is one
/// line, `case` is the first, and the table says all.
fn section(case: &Case, grid: &Grid, group: &Group) -> String {
    let (charts, servers) = if case.key.is_floor() {
        (String::new(), String::new())
    } else {
        let charts = [charts::bars(case), charts::latencies(case), charts::rounds(case)].concat();
        let charts = format!("<div class=\"charts\">\n{charts}</div>\n{}", charts::legend(case));
        (charts + &timelines::section(case), servers(case))
    };
    let guarantees = match guarantees::of(&case.key) {
        none if none.is_empty() => none,
        told => format!("<p>{}</p>\n", escaped(&told)),
    };
    format!(
        "<section>\n<h2>{}</h2>\n{guarantees}{charts}{}{servers}<p>Again: <code>{}</code></p>\n</section>\n",
        escaped(&group.title),
        lines(grid, group),
        escaped(&command(case)),
    )
}

/// A group of a grid as a table of its own.
fn lines(grid: &Grid, group: &Group) -> String {
    let grid = Grid { groups: vec![group.clone()], ..grid.clone() }.without_blank_columns();
    let group = &grid.groups[0];
    let class = |column: &Column| if column.is_number { " class=\"number\"" } else { "" };
    let heads = grid
        .columns
        .iter()
        .map(|column| format!("<th scope=\"col\"{}>{}</th>", class(column), escaped(&column.title)));
    let mut html = format!("<div class=\"wide\"><table>\n<tr>{}</tr>\n", heads.collect::<String>());
    for line in &group.lines {
        let fields = line.iter().zip(&grid.columns);
        let fields = fields.map(|(field, column)| format!("<td{}>{}</td>", class(column), escaped(field)));
        let _ = writeln!(html, "<tr>{}</tr>", fields.collect::<String>());
    }
    html + "</table></div>\n"
}

/// What each system was, as its server said; nothing where none said anything.
fn servers(case: &Case) -> String {
    let line = |series: &Series| {
        let told = [&series.server_version, &series.client_version, &series.server_settings];
        let told: Vec<_> =
            told.into_iter().filter(|text| !text.is_empty()).map(|text| escaped(text)).collect();
        let name = escaped(&words::series_name(series));
        (!told.is_empty()).then(|| format!("<li>{name}: {}</li>\n", told.join("; ")))
    };
    let lines: String = case.series.iter().filter_map(line).collect();
    if lines.is_empty() {
        return lines;
    }
    format!(
        "<details><summary>Servers, clients and their settings</summary>\n<ul>\n{lines}</ul>\n</details>\n"
    )
}

/// What measures this case again.
fn command(case: &Case) -> String {
    let key = &case.key;
    let suite = &key.suite;
    if key.is_floor() {
        return format!("./run.sh --suite {suite}");
    }
    let mut systems: Vec<_> = case.series.iter().map(|series| series.system.as_str()).collect();
    systems.dedup();
    let mut command =
        format!("./run.sh --suite {suite} --benchmark {} --system {}", key.benchmark, systems.join(","));
    let takes = Benchmark::from_str(&key.benchmark, false).ok();
    let is_ledger = Suite::from_str(suite, false).is_ok_and(Suite::is_of_ledger);
    let flags = [
        (is_ledger, "durability", key.durability.clone()),
        (takes.is_some_and(Benchmark::takes_clients) && key.clients > 0, "clients", key.clients.to_string()),
        (
            takes.is_some_and(Benchmark::takes_in_flight) && key.in_flight > 1,
            "in-flight",
            key.in_flight.to_string(),
        ),
        (takes.is_some_and(Benchmark::takes_batch), "batch", key.batch.to_string()),
        (is_ledger, "accounts", key.accounts.to_string()),
        (!key.transport.is_empty(), "transport", key.transport.clone()),
        (key.rtt_us.is_some(), "rtt", format!("{}us", key.rtt_us.unwrap_or_default())),
        (key.rate_per_s.is_some(), "rate", key.rate_per_s.unwrap_or_default().to_string()),
        (!key.arrivals.is_empty(), "arrivals", key.arrivals.clone()),
        (key.preload.is_some(), "preload", key.preload.unwrap_or_default().to_string()),
        (is_interactive(&case.series), "style", styles(&case.series)),
        (key.skew_pct > 0, "skew", format!("{}.{:02}", key.skew_pct / 100, key.skew_pct % 100)),
    ];
    for (_, flag, value) in flags.iter().filter(|(is_asked, ..)| *is_asked) {
        let _ = write!(command, " --{flag} {value}");
    }
    command
}

fn is_interactive(series: &[Series]) -> bool {
    series.iter().any(|series| series.style == Style::Interactive.name())
}

/// How PostgreSQL was asked.
fn styles(series: &[Series]) -> String {
    let mut of_postgres = series.iter().filter(|series| series.system == System::Postgres.name());
    let both = of_postgres.any(|series| series.style != Style::Interactive.name());
    [if both { "one-call," } else { "" }, Style::Interactive.name()].concat()
}

fn notes(page: &Page) -> String {
    let note = |notes: &Notes| {
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
