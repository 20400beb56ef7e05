//! A report before it has a format: alarms, grids and notes. [`text`](super::text) and
//! [`markdown`](super::markdown) write it down.

/// What a reader sees, from top to bottom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// What must be seen first.
    pub alarms: Vec<String>,
    /// One line on what the figures are of.
    pub subject: String,
    /// The answer, where it is told in sentences.
    pub headlines: Vec<String>,
    /// The figures.
    pub grids: Vec<Grid>,
    /// What to know beside them.
    pub notes: Vec<Notes>,
}

/// Lines of fields under common columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    /// Blank, or what stands above it.
    pub title: String,
    /// What each group is, as a heading.
    pub group_title: &'static str,
    /// From left to right.
    pub columns: Vec<Column>,
    /// Lines that belong together.
    pub groups: Vec<Group>,
}

/// How a column looks.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its head.
    pub title: String,
    /// Set to the right.
    pub is_number: bool,
    /// 0: always shown. Where room is short, the highest goes first.
    pub rank: u8,
}

/// Lines under one heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// The heading.
    pub title: String,
    /// As many fields each as there are columns. A field may have several lines.
    pub lines: Vec<Vec<String>>,
}

/// Sentences under a heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Notes {
    /// Ends in a colon where lines follow; blank lines have none.
    pub title: String,
    /// The sentences.
    pub lines: Vec<String>,
}

impl Column {
    /// Of text, set to the left.
    #[must_use]
    pub fn text(title: &str, rank: u8) -> Self {
        Self { title: title.into(), is_number: false, rank }
    }

    /// Of numbers, set to the right.
    #[must_use]
    pub fn number(title: &str, rank: u8) -> Self {
        Self { title: title.into(), is_number: true, rank }
    }
}

impl Grid {
    /// Without the columns that are blank on all lines.
    #[must_use]
    pub fn without_blank_columns(mut self) -> Self {
        for index in (0..self.columns.len()).rev() {
            let mut lines = self.groups.iter().flat_map(|group| &group.lines);
            if lines.all(|line| line[index].is_empty()) {
                self.remove_column(index);
            }
        }
        self
    }

    /// Takes a column out.
    pub fn remove_column(&mut self, index: usize) -> Column {
        for line in self.groups.iter_mut().flat_map(|group| &mut group.lines) {
            line.remove(index);
        }
        self.columns.remove(index)
    }
}

impl Page {
    /// Adds notes, unless there are none.
    pub fn note(&mut self, title: &str, lines: Vec<String>) {
        if !lines.is_empty() {
            self.notes.push(Notes { title: title.into(), lines });
        }
    }
}
