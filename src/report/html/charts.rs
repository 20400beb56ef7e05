//! Charts as inline SVG, each with its figures as a text alternative. Systems are told apart by
//! colour, marker, dashes and label.

use std::fmt::Write;

use super::{axis::Axis, escaped, name};
use crate::report::{
    analysis::{Case, Series},
    case::{look, proper_name},
    words,
};

pub(super) const WIDTH: f64 = 420.0;
pub(super) const HEIGHT: f64 = 220.0;
/// Room for the labels of a vertical axis, and for a system's name at the right.
pub(super) const LEFT: f64 = 60.0;
pub(super) const RIGHT: f64 = 100.0;
/// Between the middles of two lines of text.
const LINE: f64 = 14.0;
pub(super) const TOP: f64 = 10.0;
pub(super) const BOTTOM: f64 = 24.0;

/// Time per op with its 95 % interval, a line a system, on a logarithmic scale; a tick where its floor is.
pub fn bars(case: &Case) -> String {
    /// As many labels of times have room beside each other.
    const TICKS_MAX: usize = 7;
    let ends = case.series.iter().flat_map(|series| {
        let interval = series.ns_per_op_interval.map(|ends| [ends.low, ends.high]);
        let floor = series.floor.map(|floor| floor.ns_per_op);
        [series.ns_per_op].into_iter().chain(interval.into_iter().flatten()).chain(floor)
    });
    let Some(axis) = Axis::around(ends, 110.0, WIDTH - 30.0) else { return String::new() };
    let bottom = TOP + 34.0 * count(case.series.len());
    let mut body = String::new();
    let ticks = axis.ticks();
    for &tick in ticks.iter().step_by(ticks.len().div_ceil(TICKS_MAX)) {
        let x = axis.place(tick);
        let _ = write!(
            body,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 16.0,
            words::time(tick)
        );
    }
    for (place, series) in case.series.iter().enumerate() {
        let y = TOP + 34.0 * count(place) + 20.0;
        let interval = series.ns_per_op_interval.map_or_else(String::new, |ends| {
            let (low, high) = (axis.place(ends.low), axis.place(ends.high));
            format!("<line class=\"interval\" x1=\"{low:.1}\" x2=\"{high:.1}\" y1=\"{y}\" y2=\"{y}\"/>")
        });
        let floor = series.floor.map_or_else(String::new, |floor| {
            // Lower than the middle: above there are figures.
            let (x, top, bottom) = (axis.place(floor.ns_per_op), y - 4.0, y + 9.0);
            let told = format!("{}'s floor: {}", name(series), words::time(floor.ns_per_op));
            format!(
                "<line class=\"floor\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"><title>{}</title></line>",
                escaped(&told)
            )
        });
        let x = axis.place(series.ns_per_op);
        let from = axis.place(0.0);
        let _ = write!(
            body,
            "<g class=\"{}\"><line x1=\"{from:.1}\" x2=\"{x:.1}\" y1=\"{y}\" y2=\"{y}\"/>{interval}{}</g>{floor}\
             <text x=\"2\" y=\"{:.1}\">{}</text><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            class(series),
            marker(look(&series.system, &series.style), x, y),
            y + 4.0,
            escaped(&short_name(case, place)),
            y - 8.0,
            words::time(series.ns_per_op),
        );
    }
    let has_floor = case.series.iter().any(|series| series.floor.is_some());
    let title = if has_floor {
        "Time per op: median, its 95 % interval, and | the floor of this machine"
    } else {
        "Time per op: median and its 95 % interval"
    };
    figure(title, case, bottom + 22.0, &body, |series| {
        let interval = series.ns_per_op_interval.map_or("none".into(), words::time_interval);
        let floor = series.floor.map(|floor| format!(", floor {}", words::time(floor.ns_per_op)));
        format!("{} (interval {interval}{})", words::time(series.ns_per_op), floor.unwrap_or_default())
    })
}

/// Latencies of requests by percentile; what too few ops have is left out.
pub fn latencies(case: &Case) -> String {
    let points = |series: &Series| {
        let latencies = &series.latency_ns;
        let all = [latencies.min, latencies.p50, latencies.p90, latencies.p99, latencies.p999, latencies.max];
        all.into_iter().enumerate().filter_map(|(place, value)| Some((place, value?))).collect()
    };
    let names = ["min", "p50", "p90", "p99", "p99.9", "max"].map(String::from);
    lines("Latency of one op, by percentile", words::time, case, &names, points)
}

/// Time per op of each round: a drift shows as a slope.
pub fn rounds(case: &Case) -> String {
    let most = case.series.iter().map(|series| series.rounds.len()).max().unwrap_or(0);
    let names: Vec<String> = (1..=most).map(|round| round.to_string()).collect();
    let points = |series: &Series| series.rounds.iter().map(|round| round.ns_per_op).enumerate().collect();
    lines("Time per op, by round", words::time, case, &names, points)
}

/// A line a system over named places. `told`: a value in words.
pub(super) fn lines(
    title: &str,
    told: fn(f64) -> String,
    case: &Case,
    names: &[String],
    points: impl Fn(&Series) -> Vec<(usize, f64)>,
) -> String {
    let values = case.series.iter().flat_map(&points).map(|(_, value)| value);
    let height = HEIGHT.max(TOP + BOTTOM + LINE * count(case.series.len()));
    let Some(axis) = Axis::around(values, height - BOTTOM, TOP) else { return String::new() };
    let step = (WIDTH - LEFT - RIGHT) / count(names.len().max(2) - 1);
    let x = |place: usize| LEFT + step * count(place);
    let mut body = String::new();
    for tick in axis.ticks() {
        body += &line_across(axis.place(tick), &told(tick));
    }
    let every = names.len().div_ceil(10).max(1);
    for (place, name) in names.iter().enumerate().step_by(every) {
        let _ = write!(
            body,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
            x(place),
            height - 6.0
        );
    }
    let mut ends = Vec::new();
    for (place, series) in case.series.iter().enumerate() {
        let points = points(series);
        if points.is_empty() {
            continue;
        }
        let places = points.iter().map(|&(place, value)| (x(place), axis.place(value)));
        let path: Vec<String> = places.clone().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let markers: String = places
            .clone()
            .step_by(every)
            .map(|(x, y)| marker(look(&series.system, &series.style), x, y))
            .collect();
        ends.extend(places.clone().next_back().map(|(_, y)| (short_name(case, place), y)));
        let (class, path) = (class(series), path.join(" "));
        let _ = write!(body, "<g class=\"{class}\"><polyline points=\"{path}\"/>{markers}</g>");
    }
    body += &labels(ends, height - BOTTOM);
    figure(title, case, height, &body, |series| {
        let points = points(series);
        let words = points.iter().map(|&(place, value)| format!("{} {}", names[place], told(value)));
        words.collect::<Vec<_>>().join(", ")
    })
}

/// Names at the right, as high as their lines end; moved apart where they would cover each other: up from `lowest`,
/// then down from the top.
pub(super) fn labels(mut ends: Vec<(String, f64)>, mut lowest: f64) -> String {
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    for end in ends.iter_mut().rev() {
        end.1 = end.1.min(lowest);
        lowest = end.1 - LINE;
    }
    let mut highest = TOP;
    for end in &mut ends {
        end.1 = end.1.max(highest);
        highest = end.1 + LINE;
    }
    let label = |(name, y): &(String, f64)| {
        format!("<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", WIDTH - RIGHT + 8.0, y + 4.0, escaped(name))
    };
    ends.iter().map(label).collect::<Vec<_>>().concat()
}

/// A chart with its title, and its figures in words for who cannot see it.
fn figure(title: &str, case: &Case, height: f64, body: &str, told: impl Fn(&Series) -> String) -> String {
    let words = case.series.iter().map(|series| (name(series), told(series)));
    let told = words.filter(|(_, told)| !told.is_empty()).map(|(name, told)| format!("{name}: {told}"));
    let told = told.collect::<Vec<_>>().join("; ");
    format!(
        "<figure><figcaption>{title}</figcaption><svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\
         <title>{title}, {}</title><desc>{}</desc>{body}</svg></figure>\n",
        escaped(&case.label),
        escaped(&told)
    )
}

/// A series' name where there is no room for what tells it from others of its system: those are numbered.
fn short_name(case: &Case, place: usize) -> String {
    let series = &case.series[place];
    let proper = proper_name(&series.system);
    if series.distinction.is_empty() {
        return proper.to_owned();
    }
    let before = case.series[..place].iter().filter(|other| other.system == series.system).count();
    format!("{proper} {}", before + 1)
}

/// What the numbers stand for; nothing where there are none.
pub fn legend(case: &Case) -> String {
    let numbered = case.series.iter().enumerate().filter(|(_, series)| !series.distinction.is_empty());
    let words =
        numbered.map(|(place, series)| format!("{}: {}", short_name(case, place), series.distinction));
    match words.collect::<Vec<_>>().join("; ") {
        none if none.is_empty() => none,
        words => format!("<p class=\"legend\">{}</p>\n", escaped(&words)),
    }
}

fn class(series: &Series) -> String {
    format!("s{}", look(&series.system, &series.style))
}

/// A circle, a square, a triangle, a diamond, a triangle upside down: of each [`look`] its own.
pub(super) fn marker(look: usize, x: f64, y: f64) -> String {
    match look {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"/>"),
        1 => format!("<rect x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\"/>", x - 3.0, y - 3.0),
        2 => format!("<path d=\"M{x:.1} {:.1}l4 7h-8z\"/>", y - 4.0),
        4 => format!("<path d=\"M{x:.1} {:.1}l4 -7h-8z\"/>", y + 4.0),
        _ => format!("<path d=\"M{x:.1} {:.1}l4 4-4 4-4-4z\"/>", y - 4.0),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few lines on a chart")]
fn count(number: usize) -> f64 {
    number as f64
}

/// One of the lines of a vertical axis, with its number at the left.
pub(super) fn line_across(y: f64, number: &str) -> String {
    format!(
        "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
         <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{number}</text>",
        WIDTH - RIGHT,
        LEFT - 6.0,
        y + 4.0
    )
}
