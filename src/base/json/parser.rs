//! A JSON parser (RFC 8259) for what comes from people: a mistake is named with its path, line and column, a lone surrogate (`\ud83d`
//! without its other half, which a Rust string cannot hold) becomes U+FFFD, and a number keeps every digit.
//!
//! `serde_json` gives the values and the grammar of numbers. Its own reader stops at lone surrogates and knows no path.

use serde_json::{Map, Number, Value};

use crate::base::json::ReadError;

/// Deeper than this nothing is read, so that no text can exhaust the stack.
const DEPTH: u32 = 128;

/// Parses JSON text. Of a key that an object has twice, the last one counts, as in every log and every browser.
pub fn parse(text: &str) -> Result<Value, ReadError> {
    parsed(text, false)
}

/// Parses what a person writes by hand: a key that an object has twice is a mistake, as one of the two would be lost.
pub fn parse_handwritten(text: &str) -> Result<Value, ReadError> {
    parsed(text, true)
}

fn parsed(text: &str, keys_once: bool) -> Result<Value, ReadError> {
    let mut parser = Parser { text, at: 0, depth: 0, keys_once };
    let parsed = parser.value().and_then(|value| match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.mistake("the end of the text")),
    });
    parsed.map_err(|mistake| parser.error(&mistake))
}

/// What is not JSON: where, and what would have been. The path grows from its end as the parser leaves the containers.
struct Mistake {
    at: usize,
    expected: &'static str,
    path: String,
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    keys_once: bool,
}

type Parsed<T> = Result<T, Box<Mistake>>;

impl Parser<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    fn since(&self, start: usize) -> &str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let taken = self.byte() == Some(wanted);
        self.at += usize::from(taken);
        taken
    }

    #[cold]
    fn mistake(&self, expected: &'static str) -> Box<Mistake> {
        Box::new(Mistake { at: self.at, expected, path: String::new() })
    }

    fn value(&mut self) -> Parsed<Value> {
        match self.peek() {
            Some(b'{') => self.nested(Parser::object),
            Some(b'[') => self.nested(Parser::array),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.word("true") => Ok(Value::Bool(true)),
            _ if self.word("false") => Ok(Value::Bool(false)),
            _ if self.word("null") => Ok(Value::Null),
            _ => Err(self.mistake("a value")),
        }
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.text.as_bytes()[self.at..].starts_with(word.as_bytes());
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn nested(&mut self, read: fn(&mut Self) -> Parsed<Value>) -> Parsed<Value> {
        if self.depth == DEPTH {
            return Err(self.mistake("at most 128 levels"));
        }
        self.at += 1;
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Parsed<Value> {
        let mut fields = Map::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Object(fields));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.mistake("a key in double quotes"));
            }
            let start = self.at;
            let key = self.string()?;
            let read = if self.keys_once && fields.contains_key(&key) {
                self.at = start;
                Err(self.mistake("a key that this object does not have yet"))
            } else {
                self.field()
            };
            let value = read.map_err(|mistake| within(mistake, &format!(".{key}")))?;
            fields.insert(key, value);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::Object(fields));
                }
                _ => return Err(self.mistake("`,` or `}`")),
            }
        }
    }

    fn field(&mut self) -> Parsed<Value> {
        if self.peek() != Some(b':') {
            return Err(self.mistake("`:`"));
        }
        self.at += 1;
        self.value()
    }

    fn array(&mut self) -> Parsed<Value> {
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            let read = self.value();
            items.push(read.map_err(|mistake| within(mistake, &format!("[{}]", items.len())))?);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::Array(items));
                }
                _ => return Err(self.mistake("`,` or `]`")),
            }
        }
    }

    fn string(&mut self) -> Parsed<String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while self.byte().is_some_and(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            out.push_str(self.since(start));
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err(self.mistake("a control character to be written as an escape")),
                None => return Err(self.mistake("the string’s closing quote")),
            }
        }
    }

    fn escape(&mut self) -> Parsed<char> {
        self.at += 1;
        let character = match self.byte() {
            Some(b'u') => return self.unicode_escape(),
            Some(byte @ (b'"' | b'\\' | b'/')) => byte.into(),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.mistake("an escape: one of \" \\ / b f n r t u")),
        };
        self.at += 1;
        Ok(character)
    }

    /// The character of `\uXXXX`, or of two of them that are the halves of one.
    fn unicode_escape(&mut self) -> Parsed<char> {
        let first = self.hex4()?;
        let after_first = self.at;
        if (0xd800..0xdc00).contains(&first) && self.take(b'\\') && self.byte() == Some(b'u') {
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
        }
        self.at = after_first;
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex4(&mut self) -> Parsed<u32> {
        self.at += 1;
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.mistake("four hexadecimal digits"))?;
            self.at += 1;
        }
        Ok(code)
    }

    fn number(&mut self) -> Parsed<Value> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        let mut text = self.since(start).to_string();
        if self.take(b'e') || self.take(b'E') {
            // With a sign, as serde_json has it.
            let is_negative = self.take(b'-');
            if !is_negative {
                self.take(b'+');
            }
            text.push_str(if is_negative { "e-" } else { "e+" });
            let exponent = self.at;
            self.digits()?;
            text.push_str(self.since(exponent));
        }
        text.parse::<Number>().map(Value::Number).map_err(|_| self.mistake("a number"))
    }

    fn digits(&mut self) -> Parsed<()> {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.mistake("a digit")) } else { Ok(()) }
    }

    #[cold]
    fn error(&self, mistake: &Mistake) -> ReadError {
        let (before, after) = self.text.split_at_checked(mistake.at).unwrap_or_default();
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
        let found = match after.chars().next() {
            Some(character) => format!("`{}`", character.escape_default()),
            None => "the end of the text".to_string(),
        };
        let message = format!("not valid JSON at line {line}, column {column}: expected {}, found {found}", mistake.expected);
        ReadError::new(&format!("${}", mistake.path), message)
    }
}

#[cold]
fn within(mut mistake: Box<Mistake>, place: &str) -> Box<Mistake> {
    mistake.path.insert_str(0, place);
    mistake
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &[&str] = &[
        "null",
        " [ true , false , [ ] , { } ] ",
        r#"{"a": {"b": [1, -0, 0.5, 1e9, 1E-9, 9007199254740993, 1000000000000000000000000000000], "": ""}, "a": 2}"#,
        r#""\"\\\/\b\f\n\r\tA\u00e9\ud83d\ude00é😀""#,
        "-0.0e+0",
        "{\"a\":\"x\"}\n",
    ];

    #[test]
    fn reads_what_serde_json_reads() {
        for text in VALID {
            assert_eq!(parse(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
    }

    #[test]
    fn refuses_what_serde_json_refuses_after_any_change_of_a_byte() {
        let replacements = *b" \"\\{}[],:09.-+eEtfnu\x01\x7f";
        let mut compared = 0;
        for text in VALID {
            for at in 0..text.len() {
                for replacement in replacements {
                    let mut bytes = text.as_bytes().to_vec();
                    bytes[at] = replacement;
                    let Ok(changed) = String::from_utf8(bytes) else { continue };
                    let (ours, theirs) = (parse(&changed), serde_json::from_str::<Value>(&changed));
                    // Their strings refuse lone surrogates.
                    if ours.is_ok() && changed.contains("\\ud") {
                        continue;
                    }
                    assert_eq!(ours.clone().ok(), theirs.ok(), "{changed}: {ours:?}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 3_000, "{compared}");
    }

    #[test]
    fn a_mistake_is_named_with_its_path_line_and_column() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            message("{\n  \"turns\": [1, {\"a\": tru}]\n}"),
            "$.turns[1].a: not valid JSON at line 2, column 22: expected a value, found `t`"
        );
        assert_eq!(message(""), "$: not valid JSON at line 1, column 1: expected a value, found the end of the text");
        assert_eq!(message("[1 2]"), "$: not valid JSON at line 1, column 4: expected `,` or `]`, found `2`");
        assert_eq!(message("{a: 1}"), "$: not valid JSON at line 1, column 2: expected a key in double quotes, found `a`");
        assert_eq!(message("é x"), "$: not valid JSON at line 1, column 1: expected a value, found `\\u{e9}`");
        assert_eq!(message("1 x"), "$: not valid JSON at line 1, column 3: expected the end of the text, found `x`");
    }

    #[test]
    fn of_two_equal_keys_the_last_counts_except_in_what_is_written_by_hand() {
        let text = "{\"a\": {\"b\": 1,\n \"c\": 2, \"b\": 3}}";
        assert_eq!(parse(text).unwrap()["a"]["b"].as_u64(), Some(3));
        assert_eq!(
            parse_handwritten(text).unwrap_err().to_string(),
            "$.a.b: not valid JSON at line 2, column 10: expected a key that this object does not have yet, found `\\\"`"
        );
        assert!(parse_handwritten(r#"{"a": {"b": 1}, "b": {"b": 1}}"#).is_ok());
    }

    #[test]
    fn lone_surrogates_become_the_replacement_character() {
        assert_eq!(parse(r#""a\ud83dz""#).unwrap(), "a\u{fffd}z");
        assert_eq!(parse(r#""\udc00\ud83d\ude00\\ud83d""#).unwrap(), "\u{fffd}\u{1f600}\\ud83d");
        assert_eq!(parse(r#""\ud83d\ud83d\ude00""#).unwrap(), "\u{fffd}\u{1f600}");
        assert_eq!(parse("\"\\ud83d\"").unwrap(), "\u{fffd}");
        assert!(parse("\"\\ud83").is_err());
        assert!(parse("\"\\").is_err());
    }

    #[test]
    fn no_depth_exhausts_the_stack() {
        let error = parse(&"[".repeat(1_000_000)).unwrap_err().to_string();
        assert!(error.ends_with("expected at most 128 levels, found `[`"), "{}", &error[error.len() - 80..]);
        assert!(parse(&("[".repeat(128) + &"]".repeat(128))).is_ok());
    }
}
