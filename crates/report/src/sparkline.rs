//! Scores of sessions as a line of bars.

/// From the lowest to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// One bar for each score from 0.0 to 1.0, in order.
pub fn sparkline(scores: &[f64]) -> String {
    let bar = |score: &f64| {
        // The cast saturates, so that a score that is not a number is the lowest bar.
        let place = (score * BARS.len() as f64) as usize;
        BARS[place.min(BARS.len() - 1)]
    };
    scores.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn each_score_is_a_bar() {
        assert_eq!(sparkline(&[0.0, 0.15, 0.5, 1.0, 7.0, f64::NAN]), "▁▂▅██▁");
        assert_eq!(sparkline(&[]), "");
    }
}
