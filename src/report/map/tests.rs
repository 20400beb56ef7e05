use super::*;
use crate::{
    measurement::Measurement,
    report::{
        Analysis, analyze,
        samples::{self, cell_rows, row_of, sweep},
    },
};

fn map(rows: &[Measurement]) -> Map {
    analyze(rows, false).map.expect("a sweep")
}

fn text(rows: &[Measurement]) -> String {
    let analysis = analyze(rows, false);
    crate::report::text::render(&crate::report::table::page(&analysis), 160)
}

#[test]
fn a_map_as_text() {
    assert_eq!(text(&sweep()), include_str!("../../../tests/snapshots/map.txt"));
}

#[test]
fn rows_of_no_sweep_have_no_map() {
    assert_eq!(analyze(&samples::run(), false).map, None);
}

#[test]
fn a_cell_has_its_fastest_and_its_lead_and_what_is_not_there() {
    let map = map(&sweep());
    assert_eq!((&map.batches[..], map.columns.len(), map.layers.len()), (&[1, 1000][..], 3, 1));
    let [tigerbeetle, redis] = [0, 1];
    let cell = |row, column| map.cell(&map.layers[0], row, column);
    let first = cell(0, 0);
    let fastest = first.fastest().expect("measured");
    assert_eq!((first.lead, fastest.contender, first.leaders), (Lead::Shown, redis, 1));
    // Medians of 98 to 103 are 100.5: 1e9 / 100,500; the ends 1e9 / 103,000 and 1e9 / 98,000.
    let interval = fastest.transfers_per_s_interval.expect("six rounds");
    assert_eq!(
        (fastest.transfers_per_s.round(), interval.low.round(), interval.high.round()),
        (9_950.0, 9_709.0, 10_204.0)
    );
    let second = first.second().and_then(|second| second.to_fastest).expect("compared");
    assert!((second.value - 4.0).abs() < 1e-9, "{second:?}");
    assert_eq!(page::shown(&map, first).lead, "4.00x");

    assert_eq!(cell(1, 1).lead, Lead::NotMeasured);
    assert_eq!(page::shown(&map, cell(1, 1)).lead, "not measured");
    let alone = cell(1, 2);
    assert_eq!((alone.lead, &alone.failed[..], alone.missing.len()), (Lead::Alone, &[redis][..], 0));
    assert_eq!(alone.fastest().expect("measured").contender, tigerbeetle);
    assert_eq!(page::shown(&map, alone).absent, ["R failed"]);
}

#[test]
fn who_was_not_measured_here_is_missing_unless_it_cannot_be() {
    let mut rows = row_of(&[(1, 100, 200), (4, 100, 0)]);
    rows.extend(cell_rows("tigerbeetle", 10, 1, 100));
    rows.extend(cell_rows("redis", 10, 1, 100));
    let interactive = cell_rows("postgres", 1, 1, 900);
    rows.extend(interactive.into_iter().map(|row| Measurement { style: "interactive".into(), ..row }));
    let map = map(&rows);
    let names: Vec<&str> = map.contenders.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["TigerBeetle", "Redis", "PostgreSQL interactive"]);
    let missing = |row, column| map.cell(&map.layers[0], row, column).missing.clone();
    assert_eq!((missing(0, 0), missing(0, 1)), (vec![], vec![1, 2]));
    assert_eq!(missing(1, 0), [] as [usize; 0], "a batch is never asked for statement by statement");
}

#[test]
fn a_tie_names_all_who_stand_first() {
    let mut rows = row_of(&[(1, 100_000, 100_200)]);
    rows.extend(cell_rows("postgres", 1, 1, 500_000));
    let map = map(&rows);
    let cell = map.cell(&map.layers[0], 0, 0);
    assert_eq!((cell.lead, cell.leaders, page::shown(&map, cell).codes.as_str()), (Lead::Tie, 2, "T = R"));
    assert_eq!(
        page::figures(&map, cell)[0],
        "batch 1, 1 client: no difference shown between TigerBeetle and Redis"
    );
    assert_eq!(map.headlines[0], "In none of 1 cells anybody is shown to be the fastest.");
}

#[test]
fn few_rounds_show_nothing_and_say_so() {
    let mut rows = row_of(&[(1, 100_000, 200_000), (4, 200_000, 100_000)]);
    rows.retain(|row| row.round == 1);
    let map = map(&rows);
    let shown = page::shown(&map, map.cell(&map.layers[0], 0, 0));
    assert_eq!((shown.lead.as_str(), shown.rate_interval.as_str()), ("2.00x ?", "1 round"));
    assert_eq!(
        map.sentences,
        ["Redis overtakes TigerBeetle between 1 and 4 clients (batch 1; 10,000 accounts, fsync) ?"]
    );
    assert!(
        map.headlines[0].contains("has the best median in 1 of 2 cells, Redis in 1; fewer rounds"),
        "{:?}",
        map.headlines
    );
}

fn sentences(cells: &[(u32, u64, u64)]) -> Vec<String> {
    let sentences = map(&row_of(cells)).sentences;
    sentences.iter().map(|line| line.replace("TigerBeetle", "T").replace("Redis", "R")).collect()
}

const WHERE: &str = "(batch 1; 10,000 accounts, fsync)";

#[test]
fn a_flip_between_neighbours_is_a_crossing() {
    let flip = sentences(&[(1, 400, 100), (4, 400, 100), (16, 100, 400), (64, 100, 400)]);
    assert_eq!(flip, [format!("T overtakes R between 4 and 16 clients {WHERE}")]);
    let twice = sentences(&[(1, 400, 100), (4, 100, 400), (16, 400, 100)]);
    let expected = ["T overtakes R between 1 and 4 clients", "R overtakes T between 4 and 16 clients"];
    assert_eq!(twice, expected.map(|text| format!("{text} {WHERE}")));
}

#[test]
fn a_cell_that_is_not_there_lies_between() {
    // Redis is absent at 4 clients.
    let flip = sentences(&[(1, 400, 100), (4, 400, 0), (16, 100, 400)]);
    assert_eq!(flip, [format!("T overtakes R between 1 and 16 clients {WHERE}")]);
}

#[test]
fn ties_make_it_at_the_latest() {
    let between = sentences(&[(1, 400_000, 100_000), (4, 100_000, 100_000), (16, 100_000, 400_000)]);
    assert_eq!(
        between,
        [format!("T overtakes R at the latest by 16 clients, after a tie at 4 clients {WHERE}")]
    );
    let before = sentences(&[(1, 100_200, 100_000), (4, 100_000, 400_000)]);
    assert_eq!(
        before,
        [format!("T is ahead of R at the latest by 4 clients, after a tie at 1 client {WHERE}")]
    );
    let after = sentences(&[(1, 400_000, 100_000), (4, 100_000, 100_200)]);
    assert_eq!(after, [format!("R is ahead of T up to 1 client, before a tie at 4 clients {WHERE}")]);
}

#[test]
fn who_never_cross_are_counted() {
    let layer = "(10,000 accounts, fsync)";
    assert_eq!(
        sentences(&[(1, 400, 100), (4, 400, 100)]),
        [format!("R is faster than T in both cells {layer}")]
    );
    assert_eq!(sentences(&[(1, 400, 100)]), [format!("R is faster than T in the one cell {layer}")]);
    // The tie leans to the same side: nothing turns.
    let some = sentences(&[(1, 400_000, 100_000), (4, 100_200, 100_000), (16, 400_000, 100_000)]);
    assert_eq!(
        some,
        [format!("R is faster than T in 2 of 3 cells; in the others no difference is shown {layer}")]
    );
    let none = sentences(&[(1, 100_000, 100_000)]);
    assert_eq!(none, [format!("in the one cell no difference between T and R is shown {layer}")]);
    assert_eq!(sentences(&[(1, 400, 0), (4, 0, 100)]), [] as [String; 0], "they never met");
}

#[test]
fn equal_sentences_are_one() {
    let mut rows = Vec::new();
    for (batch, accounts) in [(1, 2), (10, 2), (1, 10_000), (10, 10_000)] {
        for (system, clients, ns) in
            [("tigerbeetle", 1, 400), ("redis", 1, 100), ("tigerbeetle", 4, 100), ("redis", 4, 400)]
        {
            let of = |row| Measurement { accounts, ..row };
            rows.extend(cell_rows(system, batch, clients, ns).into_iter().map(of));
        }
    }
    assert_eq!(
        map(&rows).sentences,
        ["TigerBeetle overtakes Redis between 1 and 4 clients (batches 1 and 10; both grids)"]
    );
}

#[test]
fn turns_of_one_kind_in_one_grid_are_one_sentence() {
    let mut rows = row_of(&[(1, 400, 100), (4, 400, 100), (16, 100, 400)]);
    for (batch, turns_at) in [(10, 4), (100, 4)] {
        for clients in [1, 4, 16] {
            let (ours, theirs) = if clients < turns_at { (400, 100) } else { (100, 400) };
            rows.extend(cell_rows("tigerbeetle", batch, clients, ours));
            rows.extend(cell_rows("redis", batch, clients, theirs));
        }
    }
    assert_eq!(
        map(&rows).sentences,
        [
            "TigerBeetle overtakes Redis between 4 and 16 clients (batch 1), 1 and 4 clients (batches 10 and 100): \
             10,000 accounts, fsync",
            "TigerBeetle overtakes Redis between batches of 1 and 10 (4 clients; 10,000 accounts, fsync)",
        ]
    );
}

#[test]
fn along_batches_and_along_ops_in_flight() {
    let mut rows = cell_rows("tigerbeetle", 1, 1, 400);
    rows.extend(cell_rows("redis", 1, 1, 100));
    rows.extend(cell_rows("tigerbeetle", 8189, 1, 400));
    rows.extend(cell_rows("redis", 8189, 1, 500));
    let in_flight = |row| Measurement { in_flight: 64, ..row };
    rows.extend(cell_rows("tigerbeetle", 1, 1, 10).into_iter().map(in_flight));
    rows.extend(cell_rows("redis", 1, 1, 100).into_iter().map(in_flight));
    assert_eq!(
        map(&rows).sentences,
        [
            "TigerBeetle overtakes Redis between 1 and 64 in flight (batch 1, 1 client; 10,000 accounts, fsync)",
            "TigerBeetle overtakes Redis between batches of 1 and 8,189 (1 client; 10,000 accounts, fsync)",
        ]
    );
}

#[test]
fn the_headlines_say_where_tigerbeetle_loses() {
    assert_eq!(
        map(&sweep()).headlines,
        [
            "TigerBeetle is the fastest in 2 of 4 cells, Redis in 2.",
            "TigerBeetle loses in 2 of 4 cells, all with a batch of 1; most at batch 1, 1 client (10,000 accounts, fsync): \
         4.00x slower than Redis (4.00-4.00).",
            "The largest lead of TigerBeetle over the next: 2.00x faster than Redis (2.00-2.00), at batch 1,000, 1 client (10,000 accounts, fsync).",
        ]
    );
    let nowhere = map(&row_of(&[(1, 100, 400)])).headlines;
    assert_eq!(nowhere[1], "In none of 1 cells TigerBeetle is shown to be slower than another.");
    let mut without = cell_rows("redis", 1, 1, 100);
    without.extend(cell_rows("postgres", 1, 1, 400));
    let told = map(&without).headlines;
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[1].starts_with("The largest lead of Redis over the next: 4.00x faster than PostgreSQL ("),
        "{told:?}"
    );
}

#[test]
fn grids_come_plain_first() {
    let change = |accounts, durability: &str, rtt_us, skew_pct| {
        let of = |row| Measurement { accounts, durability: durability.into(), rtt_us, skew_pct, ..row };
        cell_rows("redis", 1, 1, 100).into_iter().map(of).collect::<Vec<_>>()
    };
    let rows = [
        change(10_000, "fsync", Some(1_000), 0),
        change(10_000, "memory", None, 0),
        change(10_000, "fsync", None, 99),
        change(10_000, "fsync", None, 0),
        change(2, "fsync", None, 0),
    ];
    let map = map(&rows.concat());
    let labels: Vec<&str> = map.layers.iter().map(|layer| layer.label.as_str()).collect();
    assert_eq!(
        labels,
        [
            "2 accounts, fsync",
            "10,000 accounts, fsync",
            "10,000 accounts, skew 0.99, fsync",
            "10,000 accounts, memory",
            "10,000 accounts, fsync, rtt 1ms",
        ]
    );
}

#[test]
fn a_knee_is_where_nine_tenths_of_the_best_are_reached() {
    assert_eq!(knee(&[10.0, 50.0, 89.9, 90.0, 100.0]), Some(3));
    assert_eq!(knee(&[100.0, 50.0]), Some(0));
    assert_eq!((knee(&[1.0]), knee(&[])), (None, None));
}

#[test]
fn rates_are_no_cells() {
    let at = |rate_per_s, saturated: &str| {
        let of = |row| Measurement {
            arrivals: "poisson".into(),
            rate_per_s: Some(rate_per_s),
            saturated: saturated.into(),
            late_ops: Some(7),
            latency_ns_p99: Some(rate_per_s),
            ..row
        };
        cell_rows("redis", 1, 64, 100).into_iter().map(of).collect::<Vec<_>>()
    };
    let mut rows = at(2_000, "yes");
    rows.extend(at(1_000, "no"));
    let map = map(&rows);
    assert!(map.layers.is_empty() && map.loads.len() == 1);
    let told: Vec<_> = map.loads[0]
        .points
        .iter()
        .map(|point| (point.rate_per_s, point.latency_ns_p99, point.saturated_rounds, point.late_ops))
        .collect();
    assert_eq!(told, [(1_000, Some(1_000.0), 0, Some(7.0)), (2_000, Some(2_000.0), 6, Some(7.0))]);
    assert_eq!(map.loads[0].label(), "batch 1, 64 clients, 10,000 accounts, fsync, poisson arrivals");
    let told = text(&rows);
    assert!(!told.contains("who is the fastest where"), "{told}");
    assert!(told.contains("Response time by offered load: p50, p99"), "{told}");
    assert!(
        told.contains(
            "  1,000  1.00 us, 1.00 us\n      2,000  1.00 us, 2.00 us\n             saturated in 6 of 6\n"
        ),
        "{told}"
    );
}

#[test]
fn two_runs_are_two_contenders() {
    let mut rows = row_of(&[(1, 400, 100)]);
    rows.extend(rows.clone().into_iter().map(|row| Measurement { run_id: "run-2".into(), ..row }));
    let codes: Vec<String> =
        map(&rows).contenders.into_iter().map(|one| format!("{} {}", one.code, one.name)).collect();
    assert_eq!(
        codes,
        ["T1 TigerBeetle (run-1)", "T2 TigerBeetle (run-2)", "R1 Redis (run-1)", "R2 Redis (run-2)"]
    );
}

#[test]
fn the_cases_of_a_map_are_not_told_one_by_one_on_a_terminal() {
    let mut rows = sweep();
    rows.extend(samples::run());
    rows[0].warnings = "stolen: 9".into();
    rows[7].warnings = "stolen: 10".into();
    let analysis: Analysis = analyze(&rows, false);
    let page = crate::report::table::page(&analysis);
    assert_eq!(page.grids.len(), 2);
    assert!(
        page.grids[1].groups.iter().all(|group| !group.title.contains("transfers")),
        "{:?}",
        page.grids[1]
    );
    let mind = page.notes.iter().find(|notes| notes.title == "Mind:").expect("warnings");
    assert!(mind.lines.contains(&"2 of 9 lines of the map: up to: stolen: 10".into()), "{mind:?}");
}

#[test]
fn rates_are_short() {
    for (value, text) in [
        (7.4, "7"),
        (999.4, "999"),
        (999.6, "1.00k"),
        (12_345.0, "12.3k"),
        (999_600.0, "1.00M"),
        (2.5e9, "2500M"),
    ] {
        assert_eq!(page::short(value), text);
    }
}
