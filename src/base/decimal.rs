//! Decimal numbers as they are written, without floating point on the way.
//!
//! JSON numbers in tool arguments keep their exact value everywhere: `9007199254740993` and 10³⁰ must come out of the approval
//! card, the checkpoint and the trace as they went in. A `f64` would round them, so they are read into [`Decimal`].

/// A decimal number: `0.d₁d₂d₃… × 10^exponent`, with no leading and no trailing zero among the digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    /// ASCII digits; empty for zero.
    digits: String,
    /// Where the decimal point stands, counted from before the first digit.
    exponent: i64,
}

impl Decimal {
    /// Reads a number in JSON's grammar. `None` if the text is not one, or if its exponent does not fit 32 bits.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                let exponent = exponent.strip_prefix('+').unwrap_or(exponent);
                (mantissa, i64::from(exponent.parse::<i32>().ok()?))
            }
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let dangling_point = mantissa.contains('.') && fraction.is_empty();
        if whole.is_empty() || dangling_point || !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        let written = format!("{whole}{fraction}");
        let leading_zeros = written.bytes().take_while(|&byte| byte == b'0').count();
        let digits = written.get(leading_zeros..).unwrap_or_default().trim_end_matches('0').to_string();
        if digits.is_empty() {
            return Some(Decimal { negative: false, digits, exponent: 0 });
        }
        let exponent = exponent + whole.len() as i64 - leading_zeros as i64;
        Some(Decimal { negative, digits, exponent })
    }

    /// True below zero; minus zero is zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The number times `10^places` as a whole number, rounded half up. `None` if it is negative or does not fit.
    pub fn scaled(&self, places: u32) -> Option<u64> {
        if self.negative {
            return None;
        }
        let whole_digits = self.exponent + i64::from(places);
        if self.digits.is_empty() || whole_digits < 0 {
            return Some(0);
        }
        let whole_digits = usize::try_from(whole_digits).ok().filter(|&count| count <= 20)?;
        let mut whole: u64 = 0;
        for index in 0..whole_digits {
            let digit = self.digits.as_bytes().get(index).map_or(0, |byte| byte - b'0');
            whole = whole.checked_mul(10)?.checked_add(u64::from(digit))?;
        }
        let round_up = self.digits.as_bytes().get(whole_digits).is_some_and(|&byte| byte >= b'5');
        whole.checked_add(u64::from(round_up))
    }

    /// True if no digit stands behind the given decimal place: `288.005` has more than 2 places.
    pub fn has_at_most_places(&self, places: u32) -> bool {
        self.digits.len() as i64 - self.exponent <= i64::from(places)
    }

    /// The first digits, and the others.
    fn split_at(&self, count: usize) -> (&str, &str) {
        self.digits.split_at_checked(count).unwrap_or((&self.digits, ""))
    }

    /// The layout that ECMAScript gives a number (RFC 8785, section 3.2.2.3), on the exact digits.
    pub fn canonical(&self) -> String {
        if self.digits.is_empty() {
            return "0".to_string();
        }
        let count = self.digits.len() as i64;
        let point = self.exponent;
        let body = if count <= point && point <= 21 {
            format!("{}{}", self.digits, "0".repeat((point - count) as usize))
        } else if 0 < point && point <= 21 {
            let (whole, fraction) = self.split_at(point as usize);
            format!("{whole}.{fraction}")
        } else if -6 < point && point <= 0 {
            format!("0.{}{}", "0".repeat((-point) as usize), self.digits)
        } else {
            let sign = if point > 0 { '+' } else { '-' };
            let exponent = (point - 1).unsigned_abs();
            let (first, rest) = self.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            format!("{first}{dot}{rest}e{sign}{exponent}")
        };
        if self.negative { format!("-{body}") } else { body }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        Decimal::parse(text).unwrap().canonical()
    }

    #[test]
    fn the_same_value_has_one_form() {
        for text in ["288", "288.0", "288.00", "2.88e2", "2880E-1", "0.288e+3"] {
            assert_eq!(canonical(text), "288");
        }
        assert_eq!(canonical("-0"), "0");
        assert_eq!(canonical("0e5"), "0");
    }

    #[test]
    fn numbers_beyond_a_double_keep_their_digits() {
        assert_eq!(canonical("9007199254740993"), "9007199254740993");
        assert_eq!(canonical("2512292042121000001"), "2512292042121000001");
        assert_eq!(canonical(&format!("1{}", "0".repeat(30))), "1e+30");
        assert_eq!(canonical("123456789012345678901234567890"), "1.2345678901234567890123456789e+29");
    }

    #[test]
    fn the_layout_is_ecmascripts() {
        for text in ["0.000001", "1e-7", "1.5e-9", "100000000000000000000", "1e+21", "333333333.3333333", "-0.5"] {
            assert_eq!(canonical(text), text);
        }
    }

    #[test]
    fn what_is_not_a_number_is_none() {
        for text in ["", "-", "1.", ".5", "1e", "soon", "0x10", "1e99999999999", "NaN"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn scaling_rounds_half_up_and_refuses_what_does_not_fit() {
        let scaled = |text: &str, places| Decimal::parse(text).unwrap().scaled(places);
        assert_eq!(scaled("288.00", 2), Some(28_800));
        assert_eq!(scaled("0.15", 6), Some(150_000));
        assert_eq!(scaled("0.005", 2), Some(1));
        assert_eq!(scaled("0.0049", 2), Some(0));
        assert_eq!(scaled("0.00001", 2), Some(0));
        assert_eq!(scaled("-1", 2), None);
        assert_eq!(scaled("1e999", 2), None);
        assert_eq!(scaled("18446744073709551616", 0), None);
    }
}
