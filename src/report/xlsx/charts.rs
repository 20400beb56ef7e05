//! A chart for each benchmark: the median time per op of each system in each case, beside the figures that it shows.

use anyhow::Result;
use rust_xlsxwriter::{Chart, ChartAxisCrossing, ChartType, Format, FormatAlign, Worksheet};

use super::SHEETS;
use crate::report::{
    analysis::{Analysis, Case},
    case::system_place,
    words,
};

const WIDTH_PX: u32 = 760;
/// What a row of a sheet has, unless it is told otherwise.
const ROW_PX: usize = 20;

/// Grids of medians in ns, one below the other: a line a case, a column a system. A chart at the right of each.
pub fn sheet(sheet: &mut Worksheet, analysis: &Analysis) -> Result<()> {
    let benchmark = |case: &Case| (case.key.suite.clone(), case.key.benchmark.clone());
    let groups: Vec<&[Case]> =
        analysis.cases.chunk_by(|one, next| benchmark(one) == benchmark(next)).collect();
    let widest = groups.iter().map(|cases| systems(cases).len()).max().unwrap_or_default();
    let mut top = 0;
    for cases in groups {
        let systems = systems(cases);
        grid(sheet, top, cases, &systems)?;
        let height = 8 + (systems.len() + 1) * cases.len();
        let mut chart = chart(u32::try_from(top)?, cases, &systems)?;
        chart.set_width(WIDTH_PX).set_height(u32::try_from(height * ROW_PX)?);
        sheet.insert_chart(u32::try_from(top)?, u16::try_from(widest + 2)?, &chart)?;
        top += height.max(cases.len() + 1) + 2;
    }
    sheet.set_column_width(0, 44)?;
    for column in 1..=widest {
        sheet.set_column_width(u16::try_from(column)?, 16)?;
    }
    Ok(())
}

/// Each once, in the order that they have within a case.
fn systems(cases: &[Case]) -> Vec<String> {
    let series = cases.iter().flat_map(|case| &case.series);
    let mut named: Vec<_> = series.map(|one| (system_place(&one.system), words::series_name(one))).collect();
    named.sort_by_key(|(place, _)| *place);
    let mut systems: Vec<String> = Vec::new();
    for (_, name) in named {
        if !systems.contains(&name) {
            systems.push(name);
        }
    }
    systems
}

fn title(cases: &[Case]) -> String {
    format!("{} {}", cases[0].key.suite, cases[0].key.benchmark)
}

fn grid(sheet: &mut Worksheet, top: usize, cases: &[Case], systems: &[String]) -> Result<()> {
    let bold = Format::new().set_bold();
    let shown = Format::new().set_num_format("#,##0");
    let first = u32::try_from(top)?;
    sheet.write_string_with_format(first, 0, format!("{}, median time/op in ns", title(cases)), &bold)?;
    for (column, system) in (1..).zip(systems) {
        sheet.write_string_with_format(first, column, system, &bold.clone().set_align(FormatAlign::Right))?;
    }
    for (row, case) in (first + 1..).zip(cases) {
        sheet.write_string(row, 0, &case.label)?;
        for series in &case.series {
            let place = systems.iter().position(|system| *system == words::series_name(series));
            let column = u16::try_from(place.unwrap_or_default() + 1)?;
            sheet.write_number_with_format(row, column, series.ns_per_op, &shown)?;
        }
    }
    Ok(())
}

fn chart(top: u32, cases: &[Case], systems: &[String]) -> Result<Chart> {
    let (name, bottom) = (SHEETS[1], top + u32::try_from(cases.len())?);
    let title = format!("{}: median time per op", title(cases));
    let mut chart = Chart::new(ChartType::Bar);
    for (column, _) in (1..).zip(systems) {
        let series = chart.add_series();
        series.set_name((name, top, column));
        series.set_categories((name, top + 1, 0, bottom, 0));
        series.set_values((name, top + 1, column, bottom, column));
    }
    chart.title().set_name(&title);
    chart.set_alt_text(format!("{title}; its figures stand at the left"));
    // The first case at the top, and the axis of times, which crosses at the last, at the bottom all the same.
    chart.y_axis().set_name("case").set_reverse().set_crossing(ChartAxisCrossing::Max);
    let times = chart.x_axis().set_name("time/op in ns, logarithmic").set_log_base(10);
    times.set_min(power_below(cases)).set_num_format("#,##0");
    Ok(chart)
}

/// Where the bars start: a logarithmic axis has no 0.
fn power_below(cases: &[Case]) -> f64 {
    let times = cases.iter().flat_map(|case| case.series.iter().map(|series| series.ns_per_op));
    let least = times.filter(|ns| *ns > 0.0).fold(f64::INFINITY, f64::min);
    let below = 10_f64.powf(least.log10().floor());
    // A bar from 100 to 100 would not be seen.
    if below < least { below } else { below / 10.0 }
}
