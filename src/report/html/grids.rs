//! The map as tables, with its charts below: a cell has the letter, colour and line of whoever is the fastest, a tie those of all who stand first.
//! Hover, tap or the tab key show a cell's figures below its grid; no script is needed.

use std::fmt::Write;

use super::{curves, escaped};
use crate::report::map::{self, Cell, Layer, Lead, Map};

/// What the map says first.
pub fn answer(map: &Map) -> String {
    match list(&map.headlines) {
        none if none.is_empty() => none,
        lines => lines.replacen("<ul>", "<ul class=\"answer headlines\">", 1),
    }
}

/// The grids, their legend, and the sentences on where the order turns; then the charts.
pub fn sections(map: &Map) -> String {
    let mut html = "<section class=\"map\">\n".to_owned();
    if !map.layers.is_empty() {
        html += "<h2>The map: who is the fastest where</h2>\n";
        html += &legend(map);
        let grids: String = map.layers.iter().map(|layer| grid(map, layer)).collect();
        let _ = writeln!(html, "<div class=\"layers\">\n{grids}</div>");
        html += &listed(map::page::TURNS, &map.sentences);
        // The legend is above.
        html += &listed(map::page::READING, &map::page::notes(map)[1..]);
    }
    html + &curves::sections(map) + "</section>\n"
}

fn list(lines: &[String]) -> String {
    let lines: Vec<_> = lines.iter().map(|line| format!("<li>{}</li>\n", escaped(line))).collect();
    if lines.is_empty() { String::new() } else { format!("<ul>\n{}</ul>\n", lines.concat()) }
}

fn listed(title: &str, lines: &[String]) -> String {
    match list(lines) {
        none if none.is_empty() => none,
        lines => format!("<h3>{}</h3>\n{lines}", escaped(title.trim_end_matches(':'))),
    }
}

fn legend(map: &Map) -> String {
    let key = |one: &map::Contender| {
        format!(
            "<span class=\"key k{}\"><b>{}</b> {}</span> ",
            one.kind(),
            escaped(&one.code),
            escaped(&one.name)
        )
    };
    let keys: String = map.contenders.iter().map(key).collect();
    format!(
        "<p class=\"legend\">{keys}</p>\n<p class=\"legend\">Across: clients, and ops in flight of each where that is more \
         than one. Down: transfers a batch. Point at a cell, or tap it, for all of its figures.</p>\n"
    )
}

fn grid(map: &Map, layer: &Layer) -> String {
    let heads = map.columns.iter().map(|at| format!("<th scope=\"col\">{}</th>", head(*at)));
    let mut html = format!(
        "<div class=\"layer\"><h3>{}</h3>\n<div class=\"wide\"><table class=\"cells\">\n<tr><th scope=\"col\">batch</th>{}</tr>\n",
        escaped(&layer.label),
        heads.collect::<String>()
    );
    for (row, &batch) in map.batches.iter().enumerate() {
        let cells = (0..map.columns.len()).map(|column| cell(map, map.cell(layer, row, column)));
        let _ = writeln!(html, "<tr><th scope=\"row\">{batch}</th>{}</tr>", cells.collect::<String>());
    }
    html + "</table></div></div>\n"
}

fn head(at: map::Concurrency) -> String {
    if at.in_flight > 1 { format!("{} x {}", at.clients, at.in_flight) } else { at.clients.to_string() }
}

fn cell(map: &Map, cell: &Cell) -> String {
    let shown = map::page::shown(map, cell);
    let small = |text: &str| match text {
        "" => String::new(),
        text => format!("<small>{}</small>", escaped(text)),
    };
    let codes =
        if shown.codes.is_empty() { String::new() } else { format!("<b>{}</b> ", escaped(&shown.codes)) };
    let lead = match cell.lead {
        Lead::Shown | Lead::TooFewRounds => escaped(&shown.lead),
        _ => small(&shown.lead),
    };
    let absent: String = shown.absent.iter().map(|line| small(line)).collect();
    let figures: Vec<String> = map::page::figures(map, cell).iter().map(|line| escaped(line)).collect();
    format!(
        "<td class=\"{}\"{} tabindex=\"0\">{codes}{lead}{}{}{}{absent}<span class=\"tip\"><b>{}</b><br>{}</span></td>",
        class(map, cell),
        stripes(map, cell),
        small(&shown.lead_interval),
        small(&shown.rate),
        small(&shown.rate_interval),
        figures[0],
        figures[1..].join("<br>"),
    )
}

/// Whose colour, how deep by its lead, and how sure.
fn class(map: &Map, cell: &Cell) -> String {
    let kind = |cell: &Cell| cell.fastest().map_or(3, |standing| map.contenders[standing.contender].kind());
    let times = cell.second().and_then(|second| second.to_fastest).map_or(1.0, |ratio| ratio.value);
    let depth = match times {
        times if times < 1.5 => 1,
        times if times < 3.0 => 2,
        _ => 3,
    };
    match cell.lead {
        Lead::NotMeasured => "none".into(),
        Lead::Tie => "tie".into(),
        Lead::Alone => format!("k{} d1", kind(cell)),
        Lead::Shown => format!("k{} d{depth}", kind(cell)),
        Lead::TooFewRounds => format!("k{} d{depth} few", kind(cell)),
    }
}

/// A tie's colours side by side.
fn stripes(map: &Map, cell: &Cell) -> String {
    /// Pixels.
    const WIDTH: usize = 7;
    if cell.lead != Lead::Tie {
        return String::new();
    }
    let kinds = cell.first().iter().map(|standing| map.contenders[standing.contender].kind());
    let stripe = |(place, kind): (usize, usize)| {
        format!("var(--t{kind}) {}px {}px", place * WIDTH, (place + 1) * WIDTH)
    };
    let stripes: Vec<String> = kinds.enumerate().map(stripe).collect();
    format!(" style=\"background:repeating-linear-gradient(135deg,{})\"", stripes.join(","))
}

#[cfg(test)]
mod tests;
