//! How similar two texts are: the ratio of Ratcliff and Obershelp, twice the length of what matches by the length of both.
//!
//! Short texts are compared letter by letter, long ones word by word. As in Python's difflib, what occurs very often in a long text
//! does not begin a match. The work is bounded: beyond the bound, what is left is compared without regard to order.

use std::collections::HashMap;

/// Up to this number of characters in both, texts are compared letter by letter.
const SHORT: usize = 2000;

/// Parts of a text that are compared.
const MAX_PARTS: usize = 20_000;

/// From this number of parts on, those that are more than one in a hundred do not begin a match.
const MANY_PARTS: usize = 200;

/// Comparisons of two parts.
const MAX_WORK: usize = 200_000;

/// 1.0 = identical, 0.0 = nothing in common. Two empty texts are identical.
pub fn ratio(one: &str, other: &str) -> f64 {
    if one == other {
        return 1.0;
    }
    let is_short = |text: &str| text.chars().take(SHORT + 1).count() <= SHORT;
    let mut numbers = HashMap::new();
    match is_short(one) && is_short(other) {
        true => {
            let mut parts = |text: &str| -> Vec<Part> {
                text.chars().map(|letter| part(&mut numbers, letter, 1)).collect()
            };
            let (one, other) = (parts(one), parts(other));
            compare(&one, &other)
        }
        false => {
            let mut numbers = HashMap::new();
            let (one, other) = (words(&mut numbers, one), words(&mut numbers, other));
            compare(&one, &other)
        }
    }
}

/// A letter or a word, by its number.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Part {
    number: u32,
    length: u32,
}

fn part<K: std::hash::Hash + Eq>(numbers: &mut HashMap<K, u32>, key: K, length: usize) -> Part {
    let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    Part { number: *numbers.entry(key).or_insert(next), length: u32::try_from(length).unwrap_or(u32::MAX) }
}

fn words<'a>(numbers: &mut HashMap<&'a str, u32>, text: &'a str) -> Vec<Part> {
    text.split(' ').take(MAX_PARTS).map(|word| part(numbers, word, word.len() + 1)).collect()
}

fn compare(one: &[Part], other: &[Part]) -> f64 {
    let total = length(one) + length(other);
    if total == 0 { 1.0 } else { 2.0 * Matcher::new(one, other).matched() as f64 / total as f64 }
}

fn length(parts: &[Part]) -> u64 {
    parts.iter().map(|part| u64::from(part.length)).sum()
}

struct Matcher<'a> {
    one: &'a [Part],
    other: &'a [Part],
    /// Where each part occurs in the other text; empty for those that occur too often.
    places: Vec<Vec<usize>>,
    /// Length of the match that ends at each place of the other text, for the current and the last part.
    current: Vec<u32>,
    last: Vec<u32>,
    work: usize,
}

/// Ranges of both texts that are left to compare.
struct Ranges {
    one: std::ops::Range<usize>,
    other: std::ops::Range<usize>,
}

/// A run of equal parts.
struct Run {
    one: usize,
    other: usize,
    parts: usize,
}

impl<'a> Matcher<'a> {
    fn new(one: &'a [Part], other: &'a [Part]) -> Self {
        let numbers = one.iter().chain(other).map(|part| part.number as usize + 1).max().unwrap_or(0);
        let mut places = vec![Vec::new(); numbers];
        for (place, part) in other.iter().enumerate() {
            places[part.number as usize].push(place);
        }
        if other.len() >= MANY_PARTS {
            let most = other.len() / 100 + 1;
            places.iter_mut().filter(|places| places.len() > most).for_each(Vec::clear);
        }
        let ends = vec![0; other.len() + 1];
        Self { one, other, places, current: ends.clone(), last: ends, work: 0 }
    }

    /// Length of all runs: the longest one, then those before and after it.
    fn matched(mut self) -> u64 {
        let mut left = vec![Ranges { one: 0..self.one.len(), other: 0..self.other.len() }];
        let mut matched = 0;
        while let Some(ranges) = left.pop() {
            if self.work > MAX_WORK {
                matched += in_any_order(&self.one[ranges.one], &self.other[ranges.other]);
                continue;
            }
            let run = self.longest(&ranges);
            if run.parts == 0 {
                continue;
            }
            matched += length(&self.one[run.one..run.one + run.parts]);
            let before = Ranges { one: ranges.one.start..run.one, other: ranges.other.start..run.other };
            let after = Ranges {
                one: run.one + run.parts..ranges.one.end,
                other: run.other + run.parts..ranges.other.end,
            };
            left.extend(
                [before, after].into_iter().filter(|left| !left.one.is_empty() && !left.other.is_empty()),
            );
        }
        matched
    }

    /// The longest run, the first one of several. It may be extended by parts that do not begin a match.
    fn longest(&mut self, ranges: &Ranges) -> Run {
        let mut best = Run { one: ranges.one.start, other: ranges.other.start, parts: 0 };
        let mut touched: Vec<usize> = Vec::new();
        for place in ranges.one.clone() {
            let mut now = Vec::new();
            let places = &self.places[self.one[place].number as usize];
            let first = places.partition_point(|other| *other < ranges.other.start);
            for other in places[first..].iter().copied().take_while(|other| *other < ranges.other.end) {
                self.work += 1;
                let parts = self.last[other] + 1;
                self.current[other + 1] = parts;
                now.push(other + 1);
                if parts as usize > best.parts {
                    let parts = parts as usize;
                    best = Run { one: place + 1 - parts, other: other + 1 - parts, parts };
                }
            }
            self.work += 1;
            touched.iter().for_each(|end| self.last[*end] = 0);
            std::mem::swap(&mut self.current, &mut self.last);
            touched = now;
        }
        touched.iter().for_each(|end| self.last[*end] = 0);
        self.extend(best, ranges)
    }

    fn extend(&self, mut run: Run, ranges: &Ranges) -> Run {
        let is_equal = |one: usize, other: usize| self.one[one].number == self.other[other].number;
        while run.one > ranges.one.start
            && run.other > ranges.other.start
            && is_equal(run.one - 1, run.other - 1)
        {
            run = Run { one: run.one - 1, other: run.other - 1, parts: run.parts + 1 };
        }
        while run.one + run.parts < ranges.one.end
            && run.other + run.parts < ranges.other.end
            && is_equal(run.one + run.parts, run.other + run.parts)
        {
            run.parts += 1;
        }
        run
    }
}

/// What both have in common, wherever it is.
fn in_any_order(one: &[Part], other: &[Part]) -> u64 {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    other.iter().for_each(|part| *counts.entry(part.number).or_default() += 1);
    let mut take = |part: &&Part| match counts.get_mut(&part.number) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        Some(_) | None => false,
    };
    one.iter().filter(|part| take(part)).map(|part| u64::from(part.length)).sum()
}

#[cfg(test)]
mod tests {
    use super::ratio;

    #[test]
    fn the_ratio_is_that_of_ratcliff_and_obershelp() {
        // Each value was computed with Python's difflib.
        for (one, other, expected) in [
            ("", "", 1.0),
            ("a", "", 0.0),
            ("abcd", "bcde", 0.75),
            ("abcd", "abcd", 1.0),
            ("private thread", "private volatile", 0.666_666_666_666_666_6),
            ("tide", "diet", 0.25),
            ("all tests pass", "two tests fail", 0.571_428_571_428_571_4),
        ] {
            assert!((ratio(one, other) - expected).abs() < 1e-9, "{one} {other}: {}", ratio(one, other));
        }
        let long = "the quick brown fox jumps over the lazy dog and ".repeat(6);
        let other = format!("{long}then sleeps");
        assert!((ratio(&long, &other) - 0.981_260_647_359_454_8).abs() < 1e-9, "{}", ratio(&long, &other));
        let one = "error: cannot find value x in this scope line 12 ".repeat(3);
        let other = "warning: unused variable y in that scope line 14 ".repeat(3);
        assert!((ratio(&one, &other) - 0.632_653_061_224_489_8).abs() < 1e-9, "{}", ratio(&one, &other));
    }

    #[test]
    fn long_texts_are_compared_by_words_within_a_bound() {
        let text = |seed: u64, words: u64| -> String {
            let word = |place: u64| format!("w{}", (place * 7919 + seed) % 500);
            (0..words).map(word).collect::<Vec<_>>().join(" ")
        };
        let (one, changed) = (text(1, 5000), text(1, 5000).replace("w77 ", "other "));
        let similar = ratio(&one, &changed);
        assert!((0.95..1.0).contains(&similar), "{similar}");
        let different = ratio(&one, &"nothing of this ".repeat(1000));
        assert!(different < 0.01, "{different}");
        // Few words that occur often would take a long time if all were compared.
        let (dull, other) = ("a b ".repeat(10_000), "b b a ".repeat(6_000));
        assert!((0.0..=1.0).contains(&ratio(&dull, &other)));
    }
}
