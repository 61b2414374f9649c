//! Money in whole numbers: cents for refunds, 10⁻¹² USD for tokens. No floating point anywhere.

use serde_json::Value;

use crate::base::json::parse;

use crate::base::decimal::Decimal;

/// An amount of 10⁻¹² USD ("pico-dollars"). Sums saturate: a budget must never wrap round to zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PicoUsd(pub u64);

impl PicoUsd {
    /// The sum, at most `u64::MAX`.
    #[must_use]
    pub fn plus(self, other: PicoUsd) -> PicoUsd {
        PicoUsd(self.0.saturating_add(other.0))
    }

    /// Reads an amount in USD, such as `0.02`; `None` if it is negative or too large (over 18 million USD).
    pub fn from_usd(text: &str) -> Option<PicoUsd> {
        Decimal::parse(text)?.scaled(12).map(PicoUsd)
    }

    /// USD with at most 7 decimals, rounded half up, no trailing zeros: `0.0001481`.
    pub fn usd(self) -> String {
        let rounded = self.0 / 100_000 + u64::from(self.0 % 100_000 >= 50_000);
        let text = format!("{}.{:07}", rounded / 10_000_000, rounded % 10_000_000);
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    }

    /// [`PicoUsd::usd`] as a JSON number.
    pub fn usd_number(self) -> Value {
        number(&self.usd())
    }
}

/// What tokens cost, in 10⁻¹² USD per token (equal to USD per million tokens times 10⁶).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prices {
    /// One token of the request.
    pub input: PicoUsd,
    /// One token of the answer.
    pub output: PicoUsd,
}

impl Prices {
    /// Reads two prices in USD per million tokens.
    pub fn per_million(input_usd: &str, output_usd: &str) -> Option<Prices> {
        let price = |text: &str| Decimal::parse(text)?.scaled(6).map(PicoUsd);
        Some(Prices { input: price(input_usd)?, output: price(output_usd)? })
    }

    /// What a call with these token counts costs.
    pub fn cost(self, input_tokens: u64, output_tokens: u64) -> PicoUsd {
        let of = |price: PicoUsd, tokens: u64| PicoUsd(price.0.saturating_mul(tokens));
        of(self.input, input_tokens).plus(of(self.output, output_tokens))
    }
}

/// An amount in cents, for people: `288.00`, `2,880.00`.
pub fn cents_text(cents: u64) -> String {
    let whole = (cents / 100).to_string();
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{grouped}.{:02}", cents % 100)
}

/// A decimal text as a JSON number that prints exactly so. Text that is no number becomes a JSON string.
pub fn number(text: &str) -> Value {
    match parse(text) {
        Ok(Value::Number(number)) => Value::Number(number),
        _ => Value::String(text.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_courses_figures() {
        let prices = Prices::per_million("0.15", "0.60").unwrap();
        assert_eq!(prices.cost(787, 50).usd(), "0.0001481");
        assert_eq!(prices.cost(9_376, 377).usd(), "0.0016326");
        assert_eq!(prices.cost(787, 50).usd_number().to_string(), "0.0001481");
    }

    #[test]
    fn whole_amounts_have_no_trailing_zeros() {
        assert_eq!(PicoUsd::from_usd("2").unwrap().usd(), "2");
        assert_eq!(PicoUsd::from_usd("0.50").unwrap().usd(), "0.5");
        assert_eq!(PicoUsd(49_999).usd(), "0");
        assert_eq!(PicoUsd(50_000).usd(), "0.0000001");
        assert_eq!(PicoUsd(u64::MAX).plus(PicoUsd(1)), PicoUsd(u64::MAX));
    }

    #[test]
    fn cents_are_grouped() {
        assert_eq!(cents_text(28_800), "288.00");
        assert_eq!(cents_text(288_000), "2,880.00");
        assert_eq!(cents_text(5), "0.05");
        assert_eq!(cents_text(123_456_789), "1,234,567.89");
    }
}
