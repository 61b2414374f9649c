//! What holds for every input, tried on some thousand that nobody thought of.
//!
//! Each run draws others. The seed is printed first, and `CRASHLAB_SEED=… cargo test properties::` has the same ones again.

use std::sync::Arc;

use crashlab::agent::retry::{RetryAfter, days_since_1970, parse_retry_after};
use crashlab::base::canonical::canonical;
use crashlab::base::decimal::Decimal;
use crashlab::base::json::{compact, count, decimal, parse, parse_handwritten, pretty};
use crashlab::base::money::{PicoUsd, Prices, cents_text};
use crashlab::base::text::{grouped, preview};
use crashlab::lab::ledger::Row;
use crashlab::record::{Record, read_log};
use crashlab::report::imported::{Form, Trace, TraceReader};
use serde_json::{Map, Value};

use crate::lots::Lots;
use crate::support::{ran, scenario};

// --- JSON ----------------------------------------------------------------------------------------------------------------------

/// A number in JSON's grammar, in any layout.
fn number_text(lots: &mut Lots) -> String {
    let digits = |lots: &mut Lots, most: u64| (0..=lots.below(most)).map(|_| lots.below(10).to_string()).collect::<String>();
    let mut text = String::from(*lots.one_of(&["", "", "-"]));
    let whole = digits(lots, 20);
    let whole = whole.trim_start_matches('0');
    text += if whole.is_empty() { "0" } else { whole };
    if lots.one_in(3) {
        text += &format!(".{}", digits(lots, 12));
    }
    if lots.one_in(4) {
        text += &format!("{}{}{}", lots.one_of(&['e', 'E']), lots.one_of(&["", "+", "-"]), lots.below(40));
    }
    text
}

/// Characters that JSON, UTF-8, UTF-16 or a reader of lines treats in its own way.
const ODD: [char; 24] = [
    'a',
    'z',
    '0',
    ' ',
    '"',
    '\\',
    '/',
    '\u{8}',
    '\u{c}',
    '\n',
    '\r',
    '\t',
    '\0',
    '\u{1f}',
    '\u{7f}',
    'ß',
    'é',
    '\u{2028}',
    '\u{fffd}',
    '\u{feff}',
    '\u{d7ff}',
    '\u{e000}',
    '🦀',
    '\u{10ffff}',
];

fn odd_text(lots: &mut Lots) -> String {
    (0..lots.below(9)).map(|_| *lots.one_of(&ODD)).collect()
}

fn value(lots: &mut Lots, depth: u32) -> Value {
    match lots.below(if depth == 0 { 4 } else { 6 }) {
        0 => lots.one_of(&[Value::Null, Value::Bool(true), Value::Bool(false)]).clone(),
        1 => serde_json::from_str(&number_text(lots)).unwrap(),
        2 | 3 => Value::String(odd_text(lots)),
        4 => (0..lots.below(5)).map(|_| value(lots, depth - 1)).collect(),
        _ => Value::Object((0..lots.below(5)).map(|_| (odd_text(lots), value(lots, depth - 1))).collect::<Map<_, _>>()),
    }
}

#[test]
fn what_is_written_as_json_is_read_as_the_same_value_here_and_by_serde_json() {
    let mut lots = Lots::of("json");
    for _ in 0..3_000 {
        let value = value(&mut lots, 4);
        for text in [compact(&value), pretty(&value)] {
            assert_eq!(parse(&text).as_ref(), Ok(&value), "{text}");
            assert_eq!(parse_handwritten(&text).as_ref(), Ok(&value), "{text}");
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value, "{text}");
        }
        assert_eq!(compact(&value), serde_json::to_string(&value).unwrap());
        assert_eq!(pretty(&value), serde_json::to_string_pretty(&value).unwrap());
        assert!(!compact(&value).contains('\n'), "a record is a line");
    }
}

const MARKS: [&str; 14] = ["{", "}", "[", "]", ",", ":", "\"", "\\", "\\u00e4", "-", ".", "e", "0", " "];

/// Some that JSON has, and some that it does not have.
const TOKENS: [&str; 11] = ["null", "true", "1", "\"\"", "01", "1.", "+1", "NaN", "'x'", "//", "\\x"];

/// A text with some of its characters changed, lost, or doubled.
fn damaged(lots: &mut Lots, text: &str) -> String {
    let mut text = text.to_string();
    for _ in 0..=lots.below(3) {
        let (from, to) = (lots.cut(&text), lots.cut(&text));
        let (from, to) = (from.min(to), from.max(to));
        match lots.below(6) {
            0 => text.truncate(from),
            1 => {
                let lost: usize = text[from..].chars().take(lots.place(4)).map(char::len_utf8).sum();
                text.replace_range(from..from + lost, "");
            }
            2 => {
                let mark = lots.one_of(&MARKS);
                text.insert_str(from, mark);
            }
            3 => text.insert(from, *lots.one_of(&ODD)),
            4 => {
                let token = lots.one_of(&TOKENS);
                text.insert_str(from, token);
            }
            _ => {
                let part = text[from..to].to_string();
                text.insert_str(to, &part);
            }
        }
        if text.len() > 4_000 {
            return text;
        }
    }
    text
}

#[test]
fn damaged_json_is_refused_exactly_where_serde_json_refuses_it() {
    let mut lots = Lots::of("damaged json");
    let (mut good, mut bad) = (0, 0);
    for _ in 0..6_000 {
        let whole = compact(&value(&mut lots, 3));
        let text = damaged(&mut lots, &whole);
        let ours = parse(&text);
        let theirs = serde_json::from_str::<Value>(&text);
        assert_eq!(ours.is_ok(), theirs.is_ok(), "{text:?}: {ours:?}, {theirs:?}");
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                assert_eq!(ours, theirs, "{text:?}");
                good += 1;
            }
            (Err(error), _) => {
                assert!(error.path().starts_with('$'), "{text:?}: {error}");
                assert!(parse_handwritten(&text).is_err(), "{text:?}");
                bad += 1;
            }
            (Ok(_), Err(_)) => {}
        }
    }
    assert!(good > 300 && bad > 300, "{good} were readable, {bad} were not");
}

#[test]
fn of_a_key_that_stands_twice_the_last_counts_and_a_person_is_told() {
    let mut lots = Lots::of("keys");
    for _ in 0..500 {
        let (key, first, second) = (odd_text(&mut lots), value(&mut lots, 1), value(&mut lots, 1));
        let key = compact(&Value::String(key));
        let text = format!("{{{key}: {}, \"between\": 1, {key}: {}}}", compact(&first), compact(&second));
        let read = parse(&text).unwrap();
        assert_eq!(read, serde_json::from_str::<Value>(&text).unwrap(), "{text}");
        assert!(parse_handwritten(&text).is_err(), "{text}");
    }
}

#[test]
fn nesting_is_bounded_before_it_is_dangerous() {
    for depth in [1, 50, 100] {
        let nested = "[".repeat(depth) + &"]".repeat(depth);
        assert!(parse(&nested).is_ok(), "{depth}");
    }
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        assert!(parse(&open.repeat(100_000)).is_err());
    }
}

#[test]
fn a_value_has_one_canonical_text_however_it_is_written() {
    fn rewritten(lots: &mut Lots, value: &Value) -> Value {
        match value {
            Value::Number(number) => serde_json::from_str(&relaid(lots, number.as_str())).unwrap(),
            Value::Array(items) => items.iter().map(|item| rewritten(lots, item)).collect(),
            Value::Object(fields) => {
                let mut fields: Vec<(String, Value)> =
                    fields.iter().map(|(key, field)| (key.clone(), rewritten(lots, field))).collect();
                for place in (1..fields.len()).rev() {
                    fields.swap(place, lots.place(place + 1));
                }
                Value::Object(fields.into_iter().collect())
            }
            other => other.clone(),
        }
    }
    let mut lots = Lots::of("canonical");
    for _ in 0..1_500 {
        let value = value(&mut lots, 3);
        let again = rewritten(&mut lots, &value);
        assert_eq!(canonical(&value), canonical(&again), "{value} and {again}");
        let read = parse(&canonical(&value)).unwrap();
        assert_eq!(canonical(&read), canonical(&value), "{value}");
        assert_ne!(canonical(&Value::from(vec![value.clone()])), canonical(&value));
    }
}

/// The same number in another layout: zeros behind the point, or the point elsewhere.
fn relaid(lots: &mut Lots, text: &str) -> String {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.trim_start_matches('+').parse().unwrap();
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let zeros = "0".repeat(lots.place(3));
    match lots.below(3) {
        0 => format!("{whole}.{fraction}0{zeros}e{exponent}"),
        1 => {
            // Without a point: its digits moved into the exponent.
            let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
            let digits = format!("{whole}{fraction}{zeros}");
            let digits = digits.trim_start_matches('0');
            let digits = if digits.is_empty() { "0" } else { digits };
            format!("{sign}{digits}E{}", exponent - fraction.len() as i64 - zeros.len() as i64)
        }
        _ => text.to_string(),
    }
}

// --- Exact numbers -------------------------------------------------------------------------------------------------------------

#[test]
fn decimals_are_scaled_as_exact_arithmetic_scales_them() {
    let mut lots = Lots::of("decimals");
    let ten = |power: i64| 10_u128.pow(u32::try_from(power).unwrap());
    for _ in 0..20_000 {
        let length = 1 + lots.below(15) as u32;
        let digits = u128::from(lots.below(10_u64.pow(length)));
        let fraction = lots.below(12) as i64;
        let exponent = lots.below(21) as i64 - 10;
        let places = lots.below(13) as i64;
        let (whole, part) = (digits / ten(fraction), digits % ten(fraction));
        let point = if fraction == 0 { String::new() } else { format!(".{part:0width$}", width = fraction as usize) };
        let text = format!("{whole}{point}e{exponent}");
        let parsed = Decimal::parse(&text).unwrap();
        let shift = exponent - fraction + places;
        let (exact, is_whole) = if shift >= 0 {
            (digits * ten(shift), true)
        } else {
            let (quotient, rest) = (digits / ten(-shift), digits % ten(-shift));
            (quotient + u128::from(rest * 2 >= ten(-shift)), rest == 0)
        };
        assert_eq!(parsed.scaled(places as u32), u64::try_from(exact).ok(), "{text}, {places} places");
        assert_eq!(parsed.has_at_most_places(places as u32), is_whole || digits == 0, "{text}, {places} places");
        assert_eq!(Decimal::parse(&parsed.canonical()).as_ref(), Some(&parsed), "{text}");
        assert_eq!(Decimal::parse(&relaid(&mut lots, &text)).as_ref(), Some(&parsed), "{text}");
        let negative = Decimal::parse(&format!("-{text}")).unwrap();
        assert_eq!(negative.is_negative(), digits > 0, "-{text}");
        assert_eq!(negative.scaled(places as u32), (digits == 0).then_some(0), "-{text}");
        let json = parse(&text).unwrap();
        assert_eq!(decimal(&json).as_ref(), Some(&parsed));
        let is_count = exponent - fraction >= 0 || digits.is_multiple_of(ten(fraction - exponent)) || digits == 0;
        assert_eq!(count(&json), parsed.scaled(0).filter(|_| is_count), "{text}");
    }
}

#[test]
fn decimals_compare_as_their_digits_do() {
    let mut lots = Lots::of("layout");
    for _ in 0..4_000 {
        let text = number_text(&mut lots);
        let parsed = Decimal::parse(&text).unwrap();
        let canonical = parsed.canonical();
        assert_eq!(Decimal::parse(&canonical).as_ref(), Some(&parsed), "{text}");
        assert_eq!(Decimal::parse(&canonical).unwrap().canonical(), canonical, "{text}");
        assert!(serde_json::from_str::<Value>(&canonical).unwrap().is_number(), "{text}: {canonical}");
        // ECMAScript writes an exponent from 10²¹ on and below 10⁻⁶.
        let size: f64 = canonical.parse::<f64>().unwrap().abs();
        if size > 1e-6 * 1.01 && size < 1e21 * 0.99 {
            assert!(!canonical.contains('e'), "{text}: {canonical}");
        } else if size > 1e21 * 1.01 || (size > 0.0 && size < 1e-6 * 0.99) {
            assert!(canonical.contains('e'), "{text}: {canonical}");
        }
        for broken in [format!("{text}x"), format!("+{text}"), format!(" {text}"), format!("{text}.")] {
            assert_eq!(Decimal::parse(&broken), None, "{broken}");
        }
    }
}

#[test]
fn money_adds_up_as_exact_arithmetic_adds_and_stops_at_the_top() {
    let mut lots = Lots::of("money");
    let capped = |exact: u128| PicoUsd(u64::try_from(exact).unwrap_or(u64::MAX));
    let of = |number: u64| u128::from(number);
    for _ in 0..20_000 {
        let [a, b, c, d] = [(); 4].map(|()| lots.number());
        assert_eq!(PicoUsd(a).plus(PicoUsd(b)), capped(of(a) + of(b)));
        let prices = Prices { input: PicoUsd(a), output: PicoUsd(b) };
        assert_eq!(prices.cost(c, d), capped((of(a) * of(c)).saturating_add(of(b) * of(d))), "{a} {b} {c} {d}");
        // In USD it is rounded half up to 7 decimals, and that is exact from then on.
        let rounded = (of(a) + 50_000) / 100_000;
        let text = PicoUsd(a).usd();
        assert_eq!(Decimal::parse(&text).unwrap().scaled(7).map(u128::from), Some(rounded), "{a}: {text}");
        assert_eq!(PicoUsd::from_usd(&text), u64::try_from(rounded * 100_000).ok().map(PicoUsd), "{a}: {text}");
        let is_short = text.split_once('.').is_none_or(|(_, decimals)| !decimals.is_empty() && !decimals.ends_with('0'));
        assert!(is_short, "{text}");
        assert_eq!(compact(&PicoUsd(a).usd_number()), text);
        let exact = format!("{}.{:012}", a / 10_u64.pow(12), a % 10_u64.pow(12));
        assert_eq!(PicoUsd::from_usd(&exact), Some(PicoUsd(a)));
        let price = Prices::per_million(&exact, &text).unwrap();
        assert_eq!(of(price.input.0), (of(a) + 500_000) / 1_000_000, "{exact} a million");
        assert_eq!(PicoUsd::from_usd(&format!("-{text}")), (rounded == 0).then_some(PicoUsd(0)));
        // Cents and counts for people.
        let shown = cents_text(a);
        assert_eq!(shown.replace(['.', ','], "").trim_start_matches('0'), a.to_string().trim_start_matches('0'), "{shown}");
        assert!(shown.split(['.', ',']).skip(1).all(|group| (2..=3).contains(&group.len())), "{shown}");
        let shown = grouped(a);
        assert_eq!(shown.replace(',', ""), a.to_string());
        assert!(shown.split(',').skip(1).all(|group| group.len() == 3), "{shown}");
        assert!(shown.split(',').next().is_some_and(|group| (1..=3).contains(&group.len())), "{shown}");
    }
}

/// Days from 1970-01-01, counted one year and one month after the other.
fn days_counted(year: u64, month: u64, day: u64) -> u64 {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let years: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    let lengths = [31, 28 + u64::from(is_leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    years + lengths[..month as usize - 1].iter().sum::<u64>() + day - 1
}

#[test]
fn dates_are_counted_as_a_calendar_counts_them() {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut lots = Lots::of("dates");
    for _ in 0..3_000 {
        let (year, month) = (1970 + lots.below(700), 1 + lots.below(12));
        let day = 1 + lots.below(if month == 2 { 28 } else { 30 });
        let (hour, minute, second) = (lots.below(24), lots.below(60), lots.below(61));
        let days = days_counted(year, month, day);
        assert_eq!(days_since_1970(year, month, day), days, "{year}-{month}-{day}");
        let now_ms = lots.below(4_000_000_000_000);
        let month = MONTHS[month as usize - 1];
        let text = format!("Sun, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT");
        let at_ms = (days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000;
        assert_eq!(parse_retry_after(&text, now_ms), RetryAfter::Wait(at_ms.saturating_sub(now_ms)), "{text}");
    }
    for (year, month, day) in
        [(1970, 1, 1), (1972, 2, 29), (2000, 2, 29), (2000, 12, 31), (2100, 2, 28), (2100, 3, 1), (2400, 2, 29)]
    {
        assert_eq!(days_since_1970(year, month, day), days_counted(year, month, day), "{year}-{month}-{day}");
    }
    let good = "Sun, 31 Dec 1970 23:59:60 GMT";
    assert!(matches!(parse_retry_after(good, 0), RetryAfter::Wait(_)));
    let wrong = [
        ("31", "32"),
        ("31", "00"),
        ("31", "1"),
        ("31", "+1"),
        ("1970", "1969"),
        ("1970", "970"),
        ("1970", "01970"),
        ("23", "24"),
        ("23", "3"),
        (":59:", ":60:"),
        (":60 ", ":61 "),
        (":60 ", " "),
        ("Dec", "dec"),
        ("Dec", "12"),
        ("GMT", "UTC"),
        ("GMT", "GMT "),
        (", ", " "),
        ("Dec ", "Dec  "),
        ("Sun, ", ""),
    ];
    for (from, to) in wrong {
        let text = good.replacen(from, to, 1);
        // White space at the ends of a field is none of its text.
        let expected = if to == "GMT " { parse_retry_after(good, 0) } else { RetryAfter::Unreadable };
        assert_eq!(parse_retry_after(&text, 0), expected, "{text}");
    }
    for (text, seconds) in [("0", 0), ("7", 7), (" \t120 ", 120), ("00010", 10), ("18446744073709551615", u64::MAX)] {
        assert_eq!(parse_retry_after(text, 99), RetryAfter::Wait(u64::saturating_mul(seconds, 1_000)), "{text}");
    }
    assert_eq!(parse_retry_after("99999999999999999999", 0), RetryAfter::Wait(u64::MAX), "longer than anybody waits");
}

#[test]
fn a_preview_is_the_beginning_of_its_text_and_no_longer_than_it_may_be() {
    let mut lots = Lots::of("preview");
    for _ in 0..3_000 {
        let text: String = (0..lots.below(5)).map(|_| odd_text(&mut lots)).collect();
        let limit = lots.place(30);
        let shown = preview(&text, limit);
        assert!(text.starts_with(shown) && shown.chars().count() <= limit, "{text:?}, {limit}: {shown:?}");
        assert_eq!(shown == text, text.is_empty() || text.chars().count() <= limit || shown.len() == text.len());
    }
}

// --- Logs ----------------------------------------------------------------------------------------------------------------------

/// The lines of some runs, with crashes, denials, retries and damage to plans among them.
fn logs() -> Vec<Vec<String>> {
    let ids = ["double-charge", "crash-resume", "denied", "flaky-tool", "bad-calls", "budget", "five-calls"];
    let lines = |id: &&str| ran(&scenario(id)).1.records().iter().map(|record| record.to_line()).collect();
    ids.iter().map(lines).collect()
}

fn read_lines(lines: &[String]) -> Result<(Vec<String>, bool), String> {
    let (records, torn) = read_log(&lines.join("\n")).map_err(|error| error.path().to_string())?;
    Ok((records.iter().map(Record::to_line).collect(), torn.is_some()))
}

#[test]
fn a_log_that_was_cut_anywhere_is_read_up_to_the_cut() {
    let mut lots = Lots::of("cuts");
    for lines in logs() {
        let whole = lines.join("\n") + "\n";
        for _ in 0..60 {
            let at = lots.cut(&whole);
            let text = &whole[..at];
            let complete = text.split('\n').zip(&lines).filter(|(found, line)| *found == **line).count();
            let rest = text.split('\n').nth(complete).unwrap_or("");
            let (records, torn) = read_log(text).unwrap_or_else(|error| panic!("cut at {at}: {error}"));
            assert_eq!(records.iter().map(Record::to_line).collect::<Vec<_>>(), lines[..complete], "cut at {at}");
            assert_eq!(torn.is_some(), !rest.is_empty(), "cut at {at}");
        }
    }
}

#[test]
fn a_log_with_a_line_that_is_no_record_is_damaged_there_unless_its_end_was_cut() {
    let mut lots = Lots::of("damage");
    for lines in logs() {
        for _ in 0..40 {
            let place = lots.place(lines.len());
            let mut broken = lines.clone();
            broken[place] = match lots.below(5) {
                0 => format!("{}x", lines[place]),
                1 => lines[place][..lines[place].len() - 1 - lots.place(5)].to_string(),
                2 => "{}".to_string(),
                3 => lots.one_of(&["null", "[]", "7", "\"text\""]).to_string(),
                _ => lines[place].replacen("\"run_id\"", "\"run\"", 1),
            };
            let is_json = parse(&broken[place]).is_ok();
            let is_last = place + 1 == lines.len();
            let found = read_lines(&broken);
            if is_last && !is_json {
                assert_eq!(found, Ok((lines[..place].to_vec(), true)), "{}", broken[place]);
            } else {
                assert_eq!(found, Err(format!("line {}", place + 1)), "{}", broken[place]);
            }
        }
    }
}

#[test]
fn a_log_in_any_order_and_with_blank_lines_is_read_line_by_line() {
    let mut lots = Lots::of("order");
    for mut lines in logs() {
        for place in (1..lines.len()).rev() {
            lines.swap(place, lots.place(place + 1));
        }
        let mut spaced = lines.clone();
        for _ in 0..3 {
            spaced.insert(lots.place(spaced.len() + 1), lots.one_of(&["", " ", "\t", "\r"]).to_string());
        }
        assert_eq!(read_lines(&spaced), Ok((lines, false)));
    }
    assert_eq!(read_lines(&[]), Ok((Vec::new(), false)));
}

/// What is written of a record, with its money rounded, is written so again.
fn assert_written_for_good(record: &Record) {
    let line = record.to_line();
    assert_eq!(Record::from_line(&line).map(|again| again.to_line()), Ok(line));
}

#[test]
fn no_damage_to_a_log_makes_its_reader_panic_and_no_record_is_made_up() {
    let mut lots = Lots::of("any damage");
    for lines in logs() {
        for _ in 0..40 {
            let mut broken = lines.clone();
            for _ in 0..=lots.below(3) {
                let place = lots.place(broken.len());
                broken[place] = damaged(&mut lots, &broken[place]);
            }
            let text = broken.join("\n");
            let written = text.lines().filter(|line| !line.trim().is_empty()).count();
            match read_log(&text) {
                Ok((records, torn)) => {
                    assert_eq!(records.len() + usize::from(torn.is_some()), written);
                    for (record, line) in records.iter().zip(text.lines().filter(|line| !line.trim().is_empty())) {
                        assert_eq!(Record::from_line(line).as_ref(), Ok(record));
                        assert_written_for_good(record);
                    }
                }
                Err(error) => assert!(error.path().starts_with("line "), "{error}"),
            }
        }
    }
}

#[test]
fn each_row_of_the_worlds_books_reads_as_it_was_written_and_no_damage_makes_its_reader_panic() {
    let mut lots = Lots::of("books");
    for id in ["double-charge", "denied", "two-questions", "max-steps", "bad-calls", "replanned-refund", "refunded-meanwhile"] {
        for row in ran(&scenario(id)).0.world().rows() {
            let line = row.to_line();
            assert_eq!(Row::from_line(&line).as_ref(), Ok(&**row), "{line}");
            let broken = damaged(&mut lots, &line);
            if let Ok(row) = Row::from_line(&broken) {
                assert_eq!(Row::from_line(&row.to_line()), Ok(row), "{broken}");
            }
        }
    }
}

// --- Traces --------------------------------------------------------------------------------------------------------------------

/// Lines as other programs write them.
fn foreign(lots: &mut Lots) -> String {
    let kind = ["llm_call", "tool_result", "note", "stop", "run_start", ""];
    let fields: Vec<String> = [
        format!("\"ts\": {}", number_text(lots)),
        format!("\"type\": \"{}\"", lots.one_of(&kind)),
        format!("\"run_id\": {}", compact(&value(lots, 1))),
        format!("\"step\": {}", compact(&value(lots, 0))),
        format!("\"result\": {}", compact(&value(lots, 3))),
        "\"level\": NaN".to_string(),
    ]
    .into_iter()
    .filter(|_| !lots.one_in(3))
    .collect();
    format!("{{{}}}", fields.join(", "))
}

/// A file: lines of several runs, of other programs, and damaged ones.
fn file(lots: &mut Lots, logs: &[Vec<String>]) -> Vec<u8> {
    let mut lines = Vec::new();
    for _ in 0..=lots.below(12) {
        let line = lots.one_of(logs);
        let line = lots.one_of(line).clone();
        lines.push(match lots.below(6) {
            0 => foreign(lots),
            1 => damaged(lots, &line),
            _ => line,
        });
    }
    let end = *lots.one_of(&["\n", "\n", "\r\n", "\n\n"]);
    let mut bytes = (lines.join(end) + if lots.one_in(2) { end } else { "" }).into_bytes();
    if lots.one_in(4) && !bytes.is_empty() {
        let place = lots.place(bytes.len());
        bytes[place] = lots.below(256) as u8;
    }
    if lots.one_in(10) {
        bytes.splice(0..0, *b"\xef\xbb\xbf");
    }
    bytes
}

#[test]
fn any_file_is_read_without_a_panic_and_nothing_of_it_is_lost() {
    let mut lots = Lots::of("files");
    let logs = logs();
    let mut read = 0;
    for _ in 0..1_500 {
        let bytes = file(&mut lots, &logs);
        let shown = String::from_utf8_lossy(&bytes).to_string();
        let Ok(trace) = Trace::read(&bytes) else { continue };
        read += 1;
        assert_eq!(trace.bytes(), bytes, "{shown}");
        // A mark of byte order is no text.
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let written = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
        assert_eq!(trace.lines().len(), written, "{shown}");
        assert!(trace.lines().is_sorted_by(|a, b| a.number < b.number), "{shown}");
        for (index, line) in trace.lines().iter().enumerate() {
            let record = trace.record(index);
            assert_eq!(record.is_none(), matches!(line.form, Form::Broken(_)), "{shown}, line {}", line.number);
            if line.form == Form::Known {
                assert_eq!(record, Record::from_line(trace.text(index)).ok(), "{shown}, line {}", line.number);
            }
            if let Some(record) = record {
                assert_written_for_good(&record);
            }
            trace.json(index);
        }
        assert_eq!(trace.records().len(), trace.lines().iter().filter(|line| !matches!(line.form, Form::Broken(_))).count());
        assert_eq!(trace.rows(0, usize::MAX).len(), trace.lines().len(), "{shown}");
    }
    assert!(read > 700, "{read}");
}

#[test]
fn a_line_of_ours_is_known_in_any_company() {
    let mut lots = Lots::of("company");
    let logs = logs();
    for _ in 0..300 {
        let line = lots.one_of(&logs);
        let line = lots.one_of(line).clone();
        let other = foreign(&mut lots);
        let Ok(trace) = Trace::read(format!("{other}\n{line}\n{other}\n").as_bytes()) else { continue };
        assert_eq!(trace.lines()[1].form, Form::Known, "{line}");
        assert_eq!(trace.text(1), line);
    }
}

#[test]
fn a_file_that_is_read_bit_by_bit_is_read_as_at_once() {
    let mut lots = Lots::of("bits");
    let logs = logs();
    for _ in 0..400 {
        let bytes = file(&mut lots, &logs);
        let at_once = Trace::read(&bytes);
        let shared: Arc<[u8]> = bytes.clone().into();
        let mut reader = TraceReader::new(shared);
        let (mut rows, mut progress) = (Vec::new(), 0.0);
        let refused = loop {
            match reader.read_rows(1 + lots.place(4)) {
                Ok((goes_on, more)) => {
                    rows.extend(more);
                    assert!((progress..=1.0).contains(&reader.progress()));
                    progress = reader.progress();
                    if !goes_on {
                        break None;
                    }
                }
                Err(error) => break Some(error),
            }
        };
        let bit_by_bit = refused.map_or_else(|| reader.finish(), Err);
        match (at_once, bit_by_bit) {
            (Ok(at_once), Ok(trace)) => {
                assert_eq!(trace.records(), at_once.records());
                assert_eq!(format!("{:?}", trace.summary()), format!("{:?}", at_once.summary()));
                assert_eq!(format!("{rows:?}"), format!("{:?}", at_once.rows(0, usize::MAX)));
            }
            (at_once, trace) => assert_eq!(at_once.err(), trace.err()),
        }
    }
}
