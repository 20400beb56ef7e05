use super::*;
use crate::{
    measurement::Measurement,
    report::{
        analysis::{Moment, Timeline},
        analyze, samples,
    },
};

fn html(rows: &[Measurement]) -> String {
    render(&analyze(rows, false))
}

/// Every element that is opened is closed, in order.
pub fn assert_balanced(html: &str) {
    let mut open = Vec::new();
    for tag in html.split('<').skip(1).map(|rest| rest.split_once('>').expect("a tag ends").0) {
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        let is_void = tag.ends_with('/') || ["!DOCTYPE", "meta", "br"].contains(&name);
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !is_void {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn it_is_one_well_formed_file_without_script_or_network() {
    let html = html(&samples::run_with_floor());
    assert_balanced(&html);
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"));
    for foreign in ["<script", "http:", "https:", "src=", "@import", "url("] {
        assert!(!html.contains(foreign), "{foreign}");
    }
    assert!(html.is_ascii());
}

/// Without its style, and of one case and the floor.
#[test]
fn a_run_as_html() {
    let mut rows = samples::run_with_floor();
    rows.retain(|row| row.benchmark != "basic_batch");
    let expected = include_str!("../../../tests/snapshots/run.html");
    assert_eq!(html(&rows).replace(STYLE, ""), expected);
}

#[test]
fn the_tables_say_what_the_terminal_says() {
    let analysis = analyze(&samples::run(), false);
    let html = render(&analysis);
    let page = table::page(&analysis);
    assert!(!page.grids[0].groups.is_empty());
    let fields = page.grids[0].groups.iter().flat_map(|group| group.lines.iter().flatten());
    for field in fields.filter(|field| !field.is_empty()) {
        assert!(html.contains(&format!(">{}</td>", escaped(field))), "{field}");
    }
    let charts = html.matches("<svg").count();
    assert_eq!(charts, html.matches("<desc>").count());
    assert!(charts >= 2 * analysis.cases.len(), "{charts} charts");
}

#[test]
fn text_of_the_rows_stays_text() {
    let mut rows = samples::rows("basic", "redis", &[100, 110, 120, 130, 140, 150]);
    for row in &mut rows {
        row.warnings = "<script>alert('x')</script>".into();
        row.server_settings = "a=\"b\"&c".into();
        row.host = "<b>".into();
    }
    let html = html(&rows);
    assert_balanced(&html);
    assert!(html.contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"));
    assert!(html.contains("a=&quot;b&quot;&amp;c") && html.contains("&lt;b&gt;"));
    assert!(!html.contains("<script>") && !html.contains("<b>"));
}

#[test]
fn nothing_measured_is_said() {
    let html = html(&[]);
    assert_balanced(&html);
    assert!(html.contains("No sample was measured"));
}

#[test]
fn the_answer_is_the_data_s() {
    let mut rows = samples::rows("basic", "redis", &[100, 110, 120, 130, 140, 150]);
    rows.extend(samples::rows("basic", "postgres", &[1_000, 1_100, 1_200, 1_300, 1_400, 1_500]));
    let told = answer::sentences(&analyze(&rows, false)).join(" ");
    assert!(told.starts_with("Redis is the fastest in 1 of 1 cases. The largest difference: PostgreSQL is 10.0x slower than Redis at "), "{told}");
    assert!(
        told.contains("All 12 samples passed their checks; the widest spread over the rounds is 40 % ("),
        "{told}"
    );
    let mut close = samples::rows("basic", "redis", &[100, 110, 120, 130, 140, 150]);
    close.extend(samples::rows("basic", "postgres", &[101, 111, 121, 129, 139, 149]));
    close[0].verified = "no".into();
    let told = answer::sentences(&analyze(&close, false)).join(" ");
    assert!(!told.contains("is the fastest") && !told.contains("largest"), "{told}");
    assert!(told.contains("1 of 12 samples failed and are in no figure"), "{told}");
}

#[test]
fn neither_the_floor_nor_who_is_alone_wins() {
    let mut rows = samples::run_with_floor();
    rows.retain(|row| row.suite == "floor" || row.system == "redis");
    let other = |row: &Measurement| Measurement { run_id: "run-2".into(), ..row.clone() };
    rows.extend(rows.clone().iter().filter(|row| row.suite == "floor").map(other));
    rows.extend(samples::rows("basic", "memory", &[1]));
    let told = answer::sentences(&analyze(&rows, false)).join(" ");
    assert!(told.starts_with("1 of "), "only how far to trust: {told}");
    assert!(!told.contains("machine"), "{told}");
}

#[test]
fn a_floor_is_marked_and_told() {
    let html = html(&samples::run_with_floor());
    assert_eq!(html.matches("<line class=\"floor\"").count(), 5, "a line of each system at each case");
    assert!(html.contains("<title>Redis&#39;s floor: 42.0 us</title>"), "a mark has a title");
    assert!(html.contains("(interval 115-140 us, floor 42.0 us)"), "and the text alternative has it");
    assert!(html.contains("and | the floor of this machine</figcaption>"), "and the legend");
    assert!(
        html.contains("<td>disk_dsync</td>") && html.contains("Again: <code>./run.sh --suite floor</code>")
    );
    assert_eq!(html.matches("class=\"charts\"").count(), 2, "the floor has no charts");
}

#[test]
fn a_sample_is_shown_from_inside() {
    let mut rows = samples::rows("basic", "redis", &[100, 110]);
    rows.extend(samples::rows("basic", "postgres", &[100, 110]));
    let mut analysis = analyze(&rows, false);
    assert!(!render(&analysis).contains("Inside a sample"), "none kept intervals");
    let moment = |(place, &transfers_per_s): (u64, &u64)| Moment {
        start_ms: place * 500,
        transfers_per_s: Some(transfers_per_s),
        latency_ns_p99: (transfers_per_s > 0).then_some(2_000),
        checkpoints: Some(u64::from(place == 1)),
        ..Moment::default()
    };
    let moments = (0..).zip(&[10_000, 20_000, 0, 30_000, 7]).map(moment).collect();
    let of_redis = analysis.cases[0].series.iter_mut().find(|series| series.system == "redis");
    of_redis.expect("measured").timeline = Some(Timeline { run_id: "run-1".into(), round: 2, moments });
    let html = render(&analysis);
    assert_balanced(&html);
    assert!(
        html.contains("Redis: 0 10k, 0.5 20k, 1 0, 1.5 30k</desc>"),
        "the last one was cut short: {html}"
    );
    assert!(
        html.contains("Redis: 0 2.00 us, 0.5 2.00 us, 1.5 2.00 us</desc>"),
        "without ops no latency: {html}"
    );
    assert!(html.contains("<li>Redis, round 2 of run-1: checkpoint at 0.5 s</li>"), "{html}");
    assert_eq!(html.matches("<li>Redis, round").count(), 1, "PostgreSQL kept none");
}

#[test]
fn lines_of_one_system_are_numbered_in_charts() {
    let mut rows = samples::rows("basic", "redis", &[100, 110]);
    rows.extend(rows.clone().into_iter().map(|row| Measurement { run_id: "run-2".into(), ..row }));
    let html = html(&rows);
    assert!(html.contains("<p class=\"legend\">Redis 1: run-1; Redis 2: run-2</p>"), "{html}");
    assert!(html.contains(">Redis 1</text>") && html.contains(">redis (run-1)</td>"), "{html}");
}

#[test]
fn the_load_generators_are_told_by_case() {
    let of = |generator: &str, ns_per_op| Measurement {
        suite: "calibration".into(),
        generator: generator.into(),
        ..samples::row("round_trip", "redis", 1, ns_per_op)
    };
    let html = html(&[of("own", 40), of("peer", 41)]);
    assert_balanced(&html);
    assert!(
        html.contains("<h3>round_trip</h3>") && html.contains("<code>./run.sh calibrate</code>"),
        "{html}"
    );
}

#[test]
fn a_case_names_what_measures_it_again() {
    let mut rows = samples::rows("basic_batch", "redis", &[100]);
    rows[0].batch = 500;
    let html = html(&rows);
    assert!(
        html.contains(
            "<code>./run.sh --suite seed --benchmark basic_batch --system redis --batch 500</code>"
        )
    );
}

#[test]
fn what_measures_a_case_again_names_postgres_s_styles() {
    let again = |styles: &[&str]| {
        let styled = |&style: &&str| Measurement {
            suite: "ledger".into(),
            style: style.into(),
            ..samples::row("single", "postgres", 1, 1)
        };
        let html = html(&styles.iter().map(styled).collect::<Vec<_>>());
        html.split("--style ").nth(1).and_then(|rest| rest.split([' ', '<']).next()).map(String::from)
    };
    assert_eq!(again(&["one-call"]), None);
    assert_eq!(again(&["interactive"]).as_deref(), Some("interactive"));
    assert_eq!(again(&["interactive", "one-call"]).as_deref(), Some("one-call,interactive"));
}
