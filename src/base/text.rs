//! Text for readers: cut where they would, counted as they would.

/// `1 refund`, `2 refunds`.
pub fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A list in words: `a, b, c`.
pub fn list(parts: &[&str]) -> String {
    parts.join(", ")
}

/// The first `limit` characters of a text, cut so that no visible character is torn: an accent, an emoji sequence or a flag stays
/// whole or is left out. The rules are those of UAX #29 that matter for marks, joiners, skin tones, flags and Hangul.
pub fn preview(text: &str, limit: usize) -> &str {
    let mut last_boundary = 0;
    let mut previous: Option<char> = None;
    let mut flag_letters = 0;
    for (count, (offset, character)) in text.char_indices().enumerate() {
        let joined = previous.is_some_and(|before| joins(before, character, flag_letters));
        if !joined {
            last_boundary = offset;
        }
        if count == limit {
            return text.get(..last_boundary).unwrap_or_default();
        }
        flag_letters = if is_flag_letter(character) { flag_letters + 1 } else { 0 };
        previous = Some(character);
    }
    text
}

fn joins(before: char, after: char, flag_letters_before: usize) -> bool {
    (before == '\r' && after == '\n')
        || extends(after)
        || before == '\u{200d}'
        || (is_flag_letter(after) && flag_letters_before % 2 == 1)
        || (is_hangul(before) && matches!(after, '\u{1160}'..='\u{11ff}'))
}

fn extends(character: char) -> bool {
    matches!(
        character,
        '\u{200d}'
            | '\u{0300}'..='\u{036f}'
            | '\u{0483}'..='\u{0489}'
            | '\u{0591}'..='\u{05bd}'
            | '\u{064b}'..='\u{065f}'
            | '\u{093a}'..='\u{093c}'
            | '\u{093e}'..='\u{094f}'
            | '\u{0e31}'
            | '\u{0e34}'..='\u{0e3a}'
            | '\u{0e47}'..='\u{0e4e}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fe20}'..='\u{fe2f}'
            | '\u{1f3fb}'..='\u{1f3ff}'
            | '\u{e0020}'..='\u{e007f}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

fn is_flag_letter(character: char) -> bool {
    matches!(character, '\u{1f1e6}'..='\u{1f1ff}')
}

fn is_hangul(character: char) -> bool {
    matches!(character, '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7a3}')
}

/// A number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_text_is_whole_and_long_text_is_cut() {
        assert_eq!(preview("", 3), "");
        assert_eq!(preview("abc", 3), "abc");
        assert_eq!(preview("abcd", 3), "abc");
    }

    #[test]
    fn a_visible_character_is_never_torn() {
        assert_eq!(preview("abe\u{301}", 3), "ab");
        assert_eq!(preview("a\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}b", 4), "a");
        assert_eq!(preview("a\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}b", 6), "a\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}");
        assert_eq!(preview("\u{1f1e9}\u{1f1ea}\u{1f1eb}\u{1f1f7}", 3), "\u{1f1e9}\u{1f1ea}");
        assert_eq!(preview("x\u{1f44d}\u{1f3fd}", 2), "x");
    }

    #[test]
    fn one_endless_character_is_left_out_rather_than_torn() {
        assert_eq!(preview(&format!("e{}", "\u{301}".repeat(200)), 120), "");
    }

    #[test]
    fn thousands_are_set_apart() {
        let texts = [0, 999, 1_000, 12_345, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }
}
