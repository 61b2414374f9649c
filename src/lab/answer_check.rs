//! What an answer tells a customer of refunds, and whether it is true: one rule, for the world's books and for a trace.
//!
//! A refund is told by its number, which an answer either has or has not. Words prove less. Only where there is no refund at all is
//! an answer also held to them: a sentence that says plainly that money went back, and neither negates nor conditions it.

/// Ways of saying that money went back.
const CLAIMS: [&str; 8] = [
    "have refunded",
    "has refunded",
    "has been refunded",
    "have been refunded",
    "was refunded",
    "refund is through",
    "issued a refund",
    "sent the money back",
];

/// A sentence with one of these says something else.
const DOUBTS: [&str; 12] =
    ["not ", "n’t ", "n't ", "no ", "none ", "nothing ", "never ", "nobody ", "whether ", "if ", "when ", "once "];

/// Why an answer is not true; `None`: it is. `refunds`: the charge and the number of each that there is. A charge that was refunded
/// twice is told by one of its numbers: the second refund is another matter. `handed_over`: a colleague was asked to take over, who
/// looks at the books first, and then tells the customer.
pub fn untruth(text: &str, refunds: &[(&str, &str)], handed_over: bool) -> Option<String> {
    let is_told = |charge: &str| refunds.iter().any(|(of, number)| *of == charge && text.contains(number));
    if let Some((_, number)) = refunds.iter().find(|(charge, _)| !handed_over && !is_told(charge)) {
        return Some(format!("there is a refund {number}, and the answer does not tell of it"));
    }
    let is_invented = |number: &&str| refunds.iter().all(|(_, known)| known != number);
    if let Some(number) = numbers(text).find(is_invented) {
        return Some(format!("the answer tells of a refund {number}, and there is none"));
    }
    let words = if refunds.is_empty() { claim(text) } else { None };
    words.map(|words| format!("the answer says “{words}”, and there is no refund"))
}

/// The words by which an answer says that money went back.
pub fn claim(text: &str) -> Option<&'static str> {
    text.split(['.', '!', '?', '\n']).find_map(|sentence| {
        let sentence = sentence.to_ascii_lowercase();
        let is_doubtful = DOUBTS.iter().any(|doubt| sentence.contains(doubt));
        CLAIMS.into_iter().find(|claim| !is_doubtful && sentence.contains(claim))
    })
}

/// Numbers such as `RF-00001` in a text.
pub fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.get(rest.find("RF-")?..)?;
            let digits = rest.bytes().skip(3).take_while(u8::is_ascii_alphanumeric).count();
            let (number, after) = (rest.get(..3 + digits)?, rest.get(3 + digits..)?);
            rest = after;
            if digits > 0 {
                return Some(number);
            }
        }
    })
}
