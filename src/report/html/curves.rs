//! Lines of a map as charts: throughput by concurrency with its knee, latency by throughput, response time by offered load.
//! Both axes are logarithmic; a chart's figures stand in its text alternative.

use std::fmt::Write;

use super::{
    axis::Axis,
    charts::{BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, labels, line_across, marker},
    escaped,
};
use crate::report::{
    case::proper_name,
    map::{self, Contender, KNEE_SHARE, Layer, Line, Load, Map, knee, page::short},
    units, words,
};

/// What a point is marked with beside its contender's marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    None,
    /// A ring.
    Knee,
    /// A cross.
    Saturated,
}

struct Point {
    x: f64,
    y: f64,
    mark: Mark,
    /// In words.
    told: String,
}

/// One line.
struct Plot<'a> {
    contender: &'a Contender,
    /// Of the slowest hundredth: thin, its markers hollow, without a name.
    is_tail: bool,
    points: Vec<Point>,
}

/// A number on an axis.
type Shown = fn(f64) -> String;

/// What is drawn.
struct Chart<'a> {
    title: String,
    about: String,
    /// Where the horizontal axis has its numbers; `None`: at powers of ten.
    ticks: Option<Vec<f64>>,
    shown: [Shown; 2],
    plots: Vec<Plot<'a>>,
}

/// All charts of a map, those of a grid folded together.
pub fn sections(map: &Map) -> String {
    let mut html = String::new();
    for (place, layer) in map.layers.iter().enumerate() {
        let charts = of_layer(map, layer);
        if !charts.is_empty() {
            html += &folded(
                &format!("Throughput and latency by concurrency: {}", layer.label),
                &charts,
                place == 0,
            );
        }
    }
    if !html.is_empty() {
        let note = format!(
            "A ring marks the knee: the least concurrency that reaches {:.0} % of its line's best throughput. Filled marks are \
             medians (p50), hollow ones p99.",
            KNEE_SHARE * 100.0
        );
        html = format!("<p class=\"legend\">{note}</p>\n{html}");
    }
    let loads: String = map.loads.iter().map(|load| drawn(&by_load(map, load))).collect();
    if !loads.is_empty() {
        html += "<h2>Response time by offered load</h2>\n<p class=\"legend\">From the moment an op was due. Filled marks are \
                 medians (p50), hollow ones p99; a cross: the system fell behind in at least one round.</p>\n";
        let _ = writeln!(html, "<div class=\"plots\">\n{loads}</div>");
    }
    html
}

fn folded(title: &str, charts: &str, is_open: bool) -> String {
    let open = if is_open { " open" } else { "" };
    format!(
        "<details{open}><summary>{}</summary>\n<div class=\"plots\">\n{charts}</div>\n</details>\n",
        escaped(title)
    )
}

fn of_layer(map: &Map, layer: &Layer) -> String {
    let lines = [map::Axis::Clients, map::Axis::InFlight].into_iter().flat_map(|axis| axis.lines(map, layer));
    lines.map(|line| drawn(&throughput(map, layer, &line)) + &drawn(&latency(map, layer, &line))).collect()
}

/// By contender, who has a point at all.
fn plots(map: &Map, is_tail: bool, points: impl Fn(usize) -> Vec<Point>) -> Vec<Plot<'_>> {
    let contenders = map.contenders.iter().enumerate();
    let plots = contenders.map(|(place, contender)| Plot { contender, is_tail, points: points(place) });
    plots.filter(|plot| !plot.points.is_empty()).collect()
}

fn throughput<'a>(map: &'a Map, layer: &Layer, line: &Line) -> Chart<'a> {
    let points = |contender: usize| {
        let found = line.cells.iter().filter_map(|cell| Some((cell, cell.of(contender)?.transfers_per_s)));
        let found: Vec<_> = found.collect();
        let knee = knee(&found.iter().map(|(_, per_s)| *per_s).collect::<Vec<_>>());
        let point = |(place, (cell, per_s)): (usize, &(&&map::Cell, f64))| {
            let mark = if knee == Some(place) { Mark::Knee } else { Mark::None };
            let told = if mark == Mark::Knee { " (knee)" } else { "" };
            let x = line.axis.value(cell);
            Point { x: x.into(), y: *per_s, mark, told: format!("{x} {}/s{told}", words::rate(*per_s)) }
        };
        found.iter().enumerate().map(point).collect()
    };
    let what = if line.axis == map::Axis::InFlight { "ops in flight of a client" } else { "clients" };
    Chart {
        title: format!("Transfers/s by {what}, {}", line.fixed(map)),
        about: layer.label.clone(),
        ticks: Some(line.cells.iter().map(|cell| line.axis.value(cell).into()).collect()),
        shown: [tick, tick],
        plots: plots(map, false, points),
    }
}

fn latency<'a>(map: &'a Map, layer: &Layer, line: &Line) -> Chart<'a> {
    let points = |contender: usize, of: fn(&map::Standing) -> Option<f64>| {
        let found = line.cells.iter().filter_map(|cell| {
            let standing = cell.of(contender)?;
            let (per_s, ns) = (standing.transfers_per_s, of(standing)?);
            let told = format!("{} at {}/s", words::time(ns), words::rate(per_s));
            Some(Point { x: per_s, y: ns, mark: Mark::None, told })
        });
        found.collect()
    };
    let mut all = plots(map, false, |one| points(one, |standing| standing.latency_ns_p50));
    all.extend(plots(map, true, |one| points(one, |standing| standing.latency_ns_p99)));
    Chart {
        title: format!("Latency by transfers/s, {}", line.fixed(map)),
        about: layer.label.clone(),
        ticks: None,
        shown: [tick, words::time],
        plots: all,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate has 15 digits at most")]
fn by_load<'a>(map: &'a Map, load: &Load) -> Chart<'a> {
    let points = |contender: usize, of: fn(&map::LoadPoint) -> Option<f64>| {
        let found = load.points.iter().filter(|point| point.contender == contender).filter_map(|point| {
            let mark = if point.saturated_rounds > 0 { Mark::Saturated } else { Mark::None };
            let told = if mark == Mark::Saturated { " (saturated)" } else { "" };
            let ns = of(point)?;
            let told = format!("{} at {} a second{told}", words::time(ns), units::grouped(point.rate_per_s));
            Some(Point { x: point.rate_per_s as f64, y: ns, mark, told })
        });
        found.collect()
    };
    let mut all = plots(map, false, |one| points(one, |point| point.latency_ns_p50));
    all.extend(plots(map, true, |one| points(one, |point| point.latency_ns_p99)));
    let mut ticks: Vec<f64> = load.points.iter().map(|point| point.rate_per_s as f64).collect();
    ticks.sort_unstable_by(f64::total_cmp);
    ticks.dedup();
    Chart {
        title: "Response time by ops due in a second".into(),
        about: load.label(),
        ticks: Some(ticks),
        shown: [tick, words::time],
        plots: all,
    }
}

/// `1k`, `256`.
pub(super) fn tick(value: f64) -> String {
    let number = short(value);
    let (digits, unit) = number.split_at(number.trim_end_matches(|c: char| c.is_alphabetic()).len());
    let digits =
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    format!("{digits}{unit}")
}

/// Nothing where there is no point.
fn drawn(chart: &Chart) -> String {
    let points = || chart.plots.iter().flat_map(|plot| &plot.points);
    let (left, right) = (LEFT, WIDTH - RIGHT);
    let x = match &chart.ticks {
        Some(ticks) => Axis::tight(ticks, left + 8.0, right - 8.0),
        None => Axis::around(points().map(|point| point.x), left, right),
    };
    let y = Axis::around(points().map(|point| point.y), HEIGHT - BOTTOM, TOP);
    let (Some(x), Some(y)) = (x, y) else { return String::new() };
    let mut body = axes(chart, x, y);
    let mut ends = Vec::new();
    // The names go with the medians, which are drawn above the tails.
    for plot in chart.plots.iter().rev() {
        body += &line(plot, x, y);
    }
    for plot in chart.plots.iter().filter(|plot| !plot.is_tail) {
        ends.extend(plot.points.last().map(|point| (label(plot.contender), y.place(point.y))));
    }
    body += &labels(ends, HEIGHT - BOTTOM);
    let told = chart.plots.iter().map(|plot| {
        let points: Vec<&str> = plot.points.iter().map(|point| point.told.as_str()).collect();
        format!("{}{}: {}", plot.contender.name, if plot.is_tail { " p99" } else { "" }, points.join(", "))
    });
    format!(
        "<figure><figcaption>{0}</figcaption><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\"><title>{0}, {1}</title>\
         <desc>{2}</desc>{body}</svg></figure>\n",
        escaped(&chart.title),
        escaped(&chart.about),
        escaped(&told.collect::<Vec<_>>().join("; "))
    )
}

/// Lines across and numbers on both axes; where numbers have no room beside each other, some go without.
fn axes(chart: &Chart, x: Axis, y: Axis) -> String {
    const NUMBER_WIDTH: f64 = 36.0;
    let [show_x, show_y] = chart.shown;
    let mut body = String::new();
    let ticks = y.ticks();
    // As many as have room below each other.
    for &tick in ticks.iter().step_by(ticks.len().div_ceil(10)) {
        body += &line_across(y.place(tick), &show_y(tick));
    }
    let mut last = f64::NEG_INFINITY;
    for tick in chart.ticks.clone().unwrap_or_else(|| x.ticks()) {
        let at = x.place(tick);
        let _ = write!(
            body,
            "<line class=\"grid\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{}\"/>",
            HEIGHT - BOTTOM
        );
        if at - last >= NUMBER_WIDTH {
            let low = HEIGHT - 6.0;
            let _ = write!(
                body,
                "<text x=\"{at:.1}\" y=\"{low}\" text-anchor=\"middle\">{}</text>",
                show_x(tick)
            );
            last = at;
        }
    }
    body
}

fn line(plot: &Plot, x: Axis, y: Axis) -> String {
    let kind = plot.contender.kind();
    let (mut path, mut marks) = (Vec::new(), String::new());
    for point in &plot.points {
        let (x, y) = (x.place(point.x), y.place(point.y));
        path.push(format!("{x:.1},{y:.1}"));
        marks += &marker(kind, x, y);
        let _ = match point.mark {
            Mark::None => Ok(()),
            Mark::Knee => write!(marks, "<circle class=\"ring\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"8\"/>"),
            Mark::Saturated => {
                write!(
                    marks,
                    "<path class=\"ring\" d=\"M{:.1} {:.1}l12 12m0 -12l-12 12\"/>",
                    x - 6.0,
                    y - 6.0
                )
            }
        };
    }
    let tail = if plot.is_tail { " tail" } else { "" };
    format!("<g class=\"s{kind}{tail}\"><polyline points=\"{}\"/>{marks}</g>", path.join(" "))
}

/// What has room beside a line.
fn label(contender: &Contender) -> String {
    let name = if contender.style.is_empty() { proper_name(&contender.system) } else { &contender.style };
    format!("{} {name}", contender.code)
}
