//! Tables for people. On a terminal, cells are folded so that no line is longer than the terminal is wide.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::wrap::{width, wrapped};
use super::writer::OutputStream;

/// The columns in `right` are aligned to the right.
pub fn table<const N: usize>(
    header: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    right: &[usize],
) -> String {
    laid_out(header, rows, right, width(OutputStream::Out))
}

/// Below this width, columns would break words into pieces.
const MIN_WIDTH: usize = 60;

fn laid_out<const N: usize>(
    header: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    right: &[usize],
    width: Option<usize>,
) -> String {
    let rows: Vec<_> = rows.collect();
    if let Some(width) = width.filter(|width| *width < MIN_WIDTH) {
        return one_below_another(header, &rows, width);
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header).add_rows(rows);
    if let Some(width) = width.and_then(|width| u16::try_from(width).ok()) {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n", table.trim_fmt())
}

/// Each cell on a line of its own, after the name of its column.
fn one_below_another<const N: usize>(header: [&str; N], rows: &[[String; N]], width: usize) -> String {
    let mut text = String::new();
    for row in rows {
        for (name, cell) in header.iter().zip(row) {
            for line in wrapped(&format!("{}: {cell}", name.to_lowercase()), width) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::laid_out;

    fn lines(width: Option<usize>) -> Vec<String> {
        let rows = [["adds", "printf 'one two\\nthree four five\\n' > notes.txt && bin/tally notes.txt"]];
        let rows = rows.into_iter().map(|row| row.map(str::to_owned));
        laid_out(["CHECK", "COMMAND"], rows, &[], width).lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_table_folds_on_a_narrow_terminal_and_nowhere_else() {
        assert_eq!(lines(None).len(), 2);
        for width in [40, 60] {
            let folded = lines(Some(width));
            assert!(folded.len() > 2 && folded.iter().all(|line| line.len() <= width), "{folded:#?}");
        }
        assert_eq!(lines(Some(40))[0], "check: adds", "no column is wide enough");
    }
}
