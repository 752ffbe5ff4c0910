//! Scores of sessions as a line of bars.

/// From the lowest to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Bars in a row; a narrow terminal breaks the line between groups.
const GROUP: usize = 10;

/// One bar for each score from 0.0 to 1.0, in order.
pub fn sparkline(scores: &[f64]) -> String {
    let bar = |score: &f64| {
        // The cast saturates, so that a score that is not a number is the lowest bar.
        let place = (score * BARS.len() as f64) as usize;
        BARS[place.min(BARS.len() - 1)]
    };
    let groups: Vec<String> = scores.chunks(GROUP).map(|group| group.iter().map(bar).collect()).collect();
    groups.join(" ")
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn each_score_is_a_bar() {
        assert_eq!(sparkline(&[0.0, 0.15, 0.5, 1.0, 7.0, f64::NAN]), "▁▂▅██▁");
        assert_eq!(sparkline(&[]), "");
        assert_eq!(sparkline(&[0.0; 21]), "▁▁▁▁▁▁▁▁▁▁ ▁▁▁▁▁▁▁▁▁▁ ▁");
    }
}
