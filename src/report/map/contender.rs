//! Who is compared on the map: systems, `PostgreSQL` asked in transactions of several statements apart from `PostgreSQL`
//! asked in one call, and runs or settings that are kept apart.

use serde::Serialize;

use super::{Case, Failed, Series, is_baseline};
use crate::{
    plan::Style,
    report::case::{look, proper_name, system_place},
};

/// One of those who are compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Contender {
    #[serde(skip)]
    order: usize,
    /// As in the rows: `tigerbeetle`.
    pub system: String,
    /// `interactive`, or blank.
    pub style: String,
    /// What else tells it from others of its system: its run, its settings; mostly blank.
    pub distinction: String,
    /// In a sentence: `PostgreSQL interactive`.
    pub name: String,
    /// Where there is no room for a name: `T`, `R`, `P`, `I`; numbered where there are more of a kind.
    pub code: String,
}

impl Contender {
    fn of(system: &str, style: &str, distinction: &str) -> Self {
        let mut name = proper_name(system).to_owned();
        if !style.is_empty() {
            name = format!("{name} {style}");
        }
        if !distinction.is_empty() {
            name = format!("{name} ({distinction})");
        }
        Self {
            order: system_place(system),
            system: system.into(),
            style: style.into(),
            distinction: distinction.into(),
            name,
            code: letter(system, style).into(),
        }
    }

    /// Its colour, marker and pattern.
    #[must_use]
    pub fn kind(&self) -> usize {
        look(&self.system, &self.style)
    }

    /// Only single transfers are asked for in several statements.
    pub(super) fn could_do(&self, batch: u32) -> bool {
        self.style.is_empty() || batch == 1
    }

    fn is(&self, system: &str, style: &str) -> bool {
        self.system == system && self.style == style
    }
}

fn letter(system: &str, style: &str) -> &'static str {
    match system {
        "tigerbeetle" => "T",
        "redis" => "R",
        "postgres" if style.is_empty() => "P",
        "postgres" => "I",
        _ => "X",
    }
}

/// A series' distinction without its style, which has a place of its own.
fn rest(series: &Series) -> String {
    let words = series.distinction.split(", ").filter(|word| *word != Style::Interactive.name());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
}

/// All of some cases, in the order of their systems; of those who only failed, too.
pub(super) fn of(cases: &[&Case], failed: &[&Failed]) -> Vec<Contender> {
    let measured = cases.iter().flat_map(|case| &case.series).filter(|series| !is_baseline(&series.system));
    let mut all: Vec<Contender> =
        measured.map(|series| Contender::of(&series.system, &series.style, &rest(series))).collect();
    let unmeasured = failed.iter().filter(|row| !is_baseline(&row.system));
    let unmeasured = unmeasured.filter(|row| !all.iter().any(|one| one.is(&row.system, &row.style)));
    all.extend(unmeasured.map(|row| Contender::of(&row.system, &row.style, "")).collect::<Vec<_>>());
    all.sort_unstable();
    all.dedup();
    let codes: Vec<String> = all.iter().map(|one| one.code.clone()).collect();
    for (place, one) in all.iter_mut().enumerate() {
        if codes.iter().filter(|code| **code == one.code).count() > 1 {
            let number = codes[..=place].iter().filter(|code| **code == one.code).count();
            one.code = format!("{}{number}", one.code);
        }
    }
    all
}

pub(super) fn place(contenders: &[Contender], series: &Series) -> usize {
    let rest = rest(series);
    let is_it = |one: &Contender| one.is(&series.system, &series.style) && one.distinction == rest;
    contenders.iter().position(is_it).expect("every series is a contender")
}

/// Of a row that failed its run and settings may not tell which of several it is: then the first. `None` of a baseline.
pub(super) fn place_of_failed(contenders: &[Contender], row: &Failed) -> Option<usize> {
    contenders.iter().position(|one| one.is(&row.system, &row.style))
}
