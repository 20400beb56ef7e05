use crate::{
    measurement::Measurement,
    report::{
        analyze,
        html::{render, tests::assert_balanced},
        samples::{cell_rows, row_of, rows, sweep},
    },
};

fn html(rows: &[Measurement]) -> String {
    render(&analyze(rows, false))
}

/// The cells' own elements, without their figures.
fn cells(html: &str) -> Vec<&str> {
    let cells = html.split("<td class=\"").skip(1).filter(|cell| cell.contains("class=\"tip\""));
    cells.map(|cell| cell.split_once("<span").expect("its figures").0).collect()
}

#[test]
fn the_map_comes_first_and_its_cases_are_folded() {
    let mut all = sweep();
    all.extend(rows("basic", "redis", &[1, 2]));
    let html = html(&all);
    assert_balanced(&html);
    let places = [
        "class=\"answer headlines\"",
        "<h2>The map",
        "<details class=\"cases\">",
        "<h2>sweep transfers, fsync, 10000",
        "<h2>seed basic</h2>",
    ];
    let places = places.map(|mark| html.find(mark).unwrap_or_else(|| panic!("{mark}")));
    assert!(places.is_sorted(), "{places:?}");
    assert!(html.is_ascii() && !html.contains("<script"));
    for headline in analyze(&all, false).map.expect("a sweep").headlines {
        assert!(html.contains(&format!("<li>{headline}</li>")), "{headline}");
    }
}

#[test]
fn a_cell_has_a_letter_a_class_and_its_figures() {
    let html = html(&sweep());
    assert_eq!(
        cells(&html),
        [
            "k1 d3\" tabindex=\"0\"><b>R</b> 4.00x<small>4.00-4.00</small><small>9.95k/s</small><small>9.71k-10.2k</small>",
            "k1 d2\" tabindex=\"0\"><b>R</b> 2.00x<small>2.00-2.00</small><small>9.95k/s</small><small>9.71k-10.2k</small>",
            "k0 d2\" tabindex=\"0\"><b>T</b> 2.00x<small>2.00-2.00</small><small>19.9k/s</small><small>19.4k-20.4k</small>",
            "k0 d2\" tabindex=\"0\"><b>T</b> 2.00x<small>2.00-2.00</small><small>995k/s</small><small>971k-1.02M</small>",
            "none\" tabindex=\"0\"><small>not measured</small>",
            "k0 d1\" tabindex=\"0\"><b>T</b> <small>alone</small><small>995k/s</small><small>971k-1.02M</small><small>R failed</small>",
        ]
    );
    let figures = "<span class=\"tip\"><b>batch 1, 1 client: Redis, 4.00x faster than TigerBeetle (4.00-4.00)</b><br>\
        Redis: 9,950 transfers/s (9,709-10,204), p50 1.00 us<br>\
        TigerBeetle: 2,488 transfers/s (2,427-2,551), p50 1.00 us, 4.00x slower (4.00-4.00)</span>";
    assert!(html.contains(figures), "{html}");
}

#[test]
fn a_tie_has_the_colours_of_all_who_stand_first() {
    let html = html(&row_of(&[(1, 100_000, 100_200)]));
    let tie = "tie\" style=\"background:repeating-linear-gradient(135deg,var(--t0) 0px 7px,var(--t1) 7px 14px)\" tabindex=\"0\"><b>T = R</b> ";
    assert!(cells(&html)[0].starts_with(tie), "{:?}", cells(&html));
}

#[test]
fn few_rounds_look_unsure() {
    let mut few = sweep();
    few.retain(|row| row.round == 1);
    assert!(cells(&html(&few))[0].starts_with("k1 d3 few\" tabindex=\"0\"><b>R</b> 4.00x ?<small>"));
}

#[test]
fn text_of_the_rows_stays_text() {
    let hostile =
        |row: Measurement| Measurement { system: "<i>&".into(), durability: "\"><b>".into(), ..row };
    let rows: Vec<_> =
        [1, 4].iter().flat_map(|&clients| cell_rows("redis", 1, clients, 100)).map(hostile).collect();
    let html = html(&rows);
    assert_balanced(&html);
    assert!(!html.contains("<i>") && !html.contains("\"><b>,"), "{html}");
    assert!(html.contains("&lt;i&gt;&amp;") && html.contains("&quot;&gt;&lt;b&gt;"));
}

#[test]
fn a_line_has_its_knee_and_both_percentiles() {
    let mut rows = sweep();
    for row in &mut rows {
        row.latency_ns_p99 = Some(9_000);
    }
    let html = html(&rows);
    assert_balanced(&html);
    // At batch 1: TigerBeetle's at 16 clients, Redis's at 1, as its throughput never rises. At batch 1000 Redis has one
    // point, which is no line.
    let chart =
        html.split("<figcaption>Transfers/s by clients, batch 1</figcaption>").nth(1).expect("a chart");
    let chart = chart.split("</figure>").next().expect("it ends");
    assert_eq!(chart.matches("class=\"ring\"").count(), 2, "{chart}");
    assert!(
        chart.contains("TigerBeetle: 1 2,488/s, 4 4,975/s, 16 19,901/s (knee); Redis: 1 9,950/s (knee), 4 "),
        "{chart}"
    );
    let latency =
        html.split("<figcaption>Latency by transfers/s, batch 1</figcaption>").nth(1).expect("a chart");
    let latency = latency.split("</figure>").next().expect("it ends");
    assert!(
        latency.contains("Redis p99: 9.00 us at 9,950/s") && latency.matches("tail").count() == 2,
        "{latency}"
    );
}

#[test]
fn what_is_saturated_has_a_cross() {
    let at = |rate_per_s: u64| {
        let of = move |row| Measurement {
            arrivals: "even".into(),
            rate_per_s: Some(rate_per_s),
            saturated: if rate_per_s > 1_500 { "yes" } else { "no" }.into(),
            latency_ns_p99: Some(rate_per_s * 10),
            ..row
        };
        cell_rows("redis", 1, 64, 100).into_iter().map(of)
    };
    let html = html(&at(1_000).chain(at(2_000)).collect::<Vec<_>>());
    assert_balanced(&html);
    let chart =
        html.split("<figcaption>Response time by ops due in a second</figcaption>").nth(1).expect("a chart");
    let chart = chart.split("</figure>").next().expect("it ends");
    assert_eq!(chart.matches("class=\"ring\"").count(), 2, "of p50 and of p99: {chart}");
    assert!(
        chart.contains("Redis p99: 10.0 us at 1,000 a second, 20.0 us at 2,000 a second (saturated)"),
        "{chart}"
    );
    assert!(!html.contains("<table class=\"cells\">"), "there is no grid");
}
