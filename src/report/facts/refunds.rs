//! Which refunds a run made, and which it may have made.

use super::{Call, Did, RunFacts, is_refund};
use crate::record::FailureKind;

/// A refund that was made, or may have been. All calls under one key that the service recognises are one refund, in whichever order
/// their results came.
#[derive(Clone, Debug)]
pub struct Refund<'a> {
    /// The calls that ask for it.
    pub calls: Vec<&'a Call>,
    /// What is refunded; `None`: not recorded.
    pub charge: Option<&'a str>,
    /// Its number, if a result has it.
    pub number: Option<&'a str>,
    /// False: what came of the calls is not known.
    pub is_certain: bool,
}

impl Refund<'_> {
    /// The records that are about it.
    pub fn records(&self) -> Vec<usize> {
        self.calls.iter().flat_map(|call| call.records()).collect()
    }
}

impl RunFacts {
    /// The refunds that this run made or may have made.
    pub fn refunds(&self) -> Vec<Refund<'_>> {
        let mut refunds: Vec<Refund> = Vec::new();
        for call in self.calls.iter().filter(|call| is_refund(&call.tool)) {
            let is_repeatable = self.flags(&call.tool).is_some_and(|flags| flags.repeatable);
            let key = call.key().filter(|_| is_repeatable);
            let happened = call.happened();
            let number = call.result.as_ref().and_then(|result| result.refund_id.as_deref()).filter(|_| happened);
            // Where the service does not know a repeated request, each attempt of unknown outcome may be a refund of its own.
            let doubtful = match call.doubtful_attempts() {
                attempts if is_repeatable => attempts.min(usize::from(!happened)),
                attempts => attempts,
            };
            for is_certain in std::iter::repeat_n(false, doubtful).chain(happened.then_some(true)) {
                let number = number.filter(|_| is_certain);
                let is_same = |refund: &&mut Refund| {
                    let is_of_key = key.is_some() && refund.calls.iter().any(|other| other.key() == key);
                    let may_be = number.is_none() || refund.number.is_none();
                    (is_of_key && may_be) || (number.is_some() && refund.number == number)
                };
                match refunds.iter_mut().find(is_same) {
                    Some(refund) => {
                        refund.calls.push(call);
                        refund.number = refund.number.or(number);
                        refund.is_certain |= is_certain;
                    }
                    None => refunds.push(Refund { calls: vec![call], charge: call.charge.as_deref(), number, is_certain }),
                }
            }
        }
        refunds
    }
}

impl Call {
    /// How many of its attempts may have been executed without that anybody learnt it.
    fn doubtful_attempts(&self) -> usize {
        let earlier = self.unknown_attempts().len();
        if !self.is_in_doubt() {
            return earlier;
        }
        // What a result in doubt says of its last attempt, which may be that it certainly was refused.
        let error = self.result.as_ref().and_then(|result| result.error.as_ref());
        let is_last_open = error.is_none_or(|error| error.kind() == FailureKind::OutcomeUnknown);
        (earlier + usize::from(is_last_open)).max(1)
    }

    /// The attempts whose outcome nobody learnt before the next one was sent: record and error.
    pub fn unknown_attempts(&self) -> Vec<(usize, String)> {
        let mut unknown = Vec::new();
        let mut open: Option<(usize, Option<String>)> = None;
        for event in &self.events {
            match &event.what {
                Did::Sent { .. } => {
                    if let Some((sent, error)) = open.take() {
                        unknown.push((sent, error.unwrap_or_else(|| "no outcome is recorded".to_string())));
                    }
                    open = Some((event.index, None));
                }
                Did::Failed { error, .. } => {
                    open = match error.kind() {
                        FailureKind::NotExecuted | FailureKind::Rejected => None,
                        // Traces without intents: the failure stands for the attempt.
                        FailureKind::OutcomeUnknown => {
                            Some((open.map_or(event.index, |(sent, _)| sent), Some(error.text.to_string())))
                        }
                    };
                }
                Did::LookedUp => open = None,
                Did::Asked { again } => {
                    if *again {
                        open = None;
                    }
                }
                Did::Decided(_) => {}
            }
        }
        // In a trace without intents the result is the next attempt.
        let has_intents = self.events.iter().any(|event| matches!(event.what, Did::Sent { .. }));
        if let (Some((sent, Some(error))), false, Some(_)) = (open, has_intents, &self.result) {
            unknown.push((sent, error));
        }
        unknown
    }
}
