//! The reader of a log: it says the same whether a log comes at once or bit by bit, loses no intent, and bears any log.

use std::path::PathBuf;

use crashlab::log::trace::{AttemptState, Entry, Purpose, Role, Subject, Trace, Traces};
use serde_json::{Map, Value, json};

/// Every stored log, line by line.
fn logs() -> Vec<(String, Vec<Value>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = ["golden", "traces"].map(|folder| root.join(folder));
    let mut files: Vec<PathBuf> =
        folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    assert!(files.len() > 20, "the golden logs are there");
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).unwrap();
        (file.display().to_string(), text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    };
    files.into_iter().map(read).collect()
}

fn trace_of<'a>(lines: impl IntoIterator<Item = &'a Value>) -> Trace {
    let mut trace = Trace::default();
    for (index, line) in lines.into_iter().enumerate() {
        trace.push(index, &Entry::read(line));
    }
    trace
}

/// What has to hold of any log.
fn assert_sound(trace: &Trace, lines: &[&Value], name: &str) {
    let is = |line: &Value, kind: &str| line["type"] == kind;
    let intents: Vec<usize> =
        (0..lines.len()).filter(|index| is(lines[*index], "llm_request") || is(lines[*index], "tool_call")).collect();
    let attempts: Vec<usize> = trace.attempts.iter().map(|attempt| attempt.intent).collect();
    assert_eq!(attempts, intents, "{name}: an attempt for each intent");
    for attempt in &trace.attempts {
        assert_eq!(attempt.end.is_none(), attempt.state() == AttemptState::Open, "{name}");
        assert!(attempt.end.is_none_or(|end| end.record > attempt.intent), "{name}: {attempt:?} ends after it begins");
    }
    // Each attempt belongs to one step or one call, and each call to one step.
    let mut owned: Vec<usize> = trace.steps.iter().flat_map(|step| &step.model).copied().collect();
    owned.extend(trace.calls.iter().flat_map(|call| &call.attempts));
    owned.sort_unstable();
    assert_eq!(owned, (0..trace.attempts.len()).collect::<Vec<_>>(), "{name}");
    let mut calls: Vec<usize> = trace.steps.iter().flat_map(|step| &step.calls).copied().collect();
    calls.sort_unstable();
    assert_eq!(calls, (0..trace.calls.len()).collect::<Vec<_>>(), "{name}");
    let mut approvals: Vec<usize> = trace.calls.iter().flat_map(|call| &call.approvals).copied().collect();
    approvals.sort_unstable();
    assert_eq!(approvals, (0..trace.approvals.len()).collect::<Vec<_>>(), "{name}");

    assert_eq!(trace.roles().len(), lines.len(), "{name}");
    for (index, role) in trace.roles().iter().enumerate() {
        assert_eq!(role.record, index, "{name}");
        assert!(role.group <= index && role.step < trace.steps.len(), "{name}: {role:?}");
        let head = &trace.roles()[role.group];
        assert_eq!(
            (head.group, head.subject),
            (role.group, if role.group == index { role.subject } else { head.subject }),
            "{name}"
        );
        for closed in &role.closes {
            assert!(trace.roles()[closed.from].opens.is_some(), "{name}: {role:?} closes what was opened");
        }
        if let Subject::Call(call) = role.subject {
            assert!(trace.calls[call].records.contains(&index), "{name}: {role:?}");
        }
    }
}

/// The log at once, and bit by bit: no prefix says anything else of its records.
fn assert_reads(lines: &[&Value], name: &str) {
    let whole = trace_of(lines.iter().copied());
    assert_sound(&whole, lines, name);
    let mut grown = Trace::default();
    for (index, line) in lines.iter().enumerate() {
        let role: Role = grown.push(index, &Entry::read(line)).clone();
        assert_eq!(role, whole.roles()[index], "{name}: record {index}");
    }
    assert_eq!(grown, whole, "{name}");
}

#[test]
fn every_log_and_every_beginning_of_it_is_read() {
    for (name, lines) in logs() {
        let all: Vec<&Value> = lines.iter().collect();
        for end in 0..=all.len() {
            assert_sound(&trace_of(all[..end].iter().copied()), &all[..end], &format!("{name}, {end} records"));
        }
        assert_reads(&all, &name);
    }
}

#[test]
fn a_log_without_one_record_or_with_two_exchanged_is_read() {
    for (name, lines) in logs() {
        for index in 0..lines.len() {
            let without: Vec<&Value> = lines[..index].iter().chain(&lines[index + 1..]).collect();
            assert_sound(&trace_of(without.iter().copied()), &without, &format!("{name} without {index}"));
            let mut exchanged: Vec<&Value> = lines.iter().collect();
            exchanged.swap(index, (index + 1) % lines.len());
            assert_sound(&trace_of(exchanged.iter().copied()), &exchanged, &format!("{name}, {index} exchanged"));
        }
    }
}

/// A generator of numbers (xorshift), so that a failure can be repeated from its seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (end.max(1) as u64)).unwrap()
    }
}

/// Changes a record in one place.
fn mutate(random: &mut Random, line: &mut Value) {
    let odd =
        [Value::Null, json!(-1), json!(1e300), json!(""), json!("llm_call"), json!([]), json!({}), json!(true), json!([[1]])];
    let value = odd[random.below(odd.len())].clone();
    let Value::Object(fields) = line else {
        return;
    };
    let keys: Vec<String> = fields.keys().cloned().collect();
    let key = keys.get(random.below(keys.len())).cloned().unwrap_or_default();
    match random.below(4) {
        0 => {
            fields.shift_remove(&key);
        }
        1 => {
            fields.insert(key, value);
        }
        2 => {
            let kinds = ["llm_request", "tool_call", "tool_result", "crash", "approval", "resume", "telepathy", "tool_hint"];
            fields.insert("type".to_string(), kinds[random.below(kinds.len())].into());
        }
        _ => {
            fields.insert("call_id".to_string(), json!(format!("call_{}", random.below(4))));
        }
    }
}

#[test]
fn logs_that_are_changed_at_random_are_read() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let given = std::env::var("TRACE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or(now.as_nanos() as u64 | 1);
    eprintln!("TRACE_SEED={seed}");
    let mut random = Random(seed);
    let logs = logs();
    for round in 0..600 {
        let (name, lines) = &logs[random.below(logs.len())];
        let mut lines = lines.clone();
        for _ in 0..=random.below(12) {
            let (one, other) = (random.below(lines.len()), random.below(lines.len()));
            match random.below(4) {
                0 => lines.swap(one, other),
                1 if lines.len() > 1 => {
                    lines.remove(one);
                }
                2 => lines.insert(one, lines[other].clone()),
                _ => mutate(&mut random, &mut lines[one]),
            }
        }
        let lines: Vec<&Value> = lines.iter().collect();
        assert_reads(&lines, &format!("seed {seed}, round {round}, {name}"));
    }
}

#[test]
fn runs_that_are_mixed_in_a_file_are_kept_apart() {
    let request = |run: &str, step: u32| json!({"run_id": run, "step": step, "type": "llm_request", "attempt": 1});
    let mut traces = Traces::default();
    let lines =
        [request("a", 1), request("b", 1), json!({"step": 1, "type": "llm_call"}), json!({"run_id": "a", "type": "crash"})];
    for line in &lines {
        traces.push(line["run_id"].as_str(), &Entry::read(line));
    }
    let states: Vec<Vec<AttemptState>> =
        traces.runs().iter().map(|(_, trace)| trace.attempts.iter().map(|attempt| attempt.state()).collect()).collect();
    assert_eq!(states, [[AttemptState::InDoubt], [AttemptState::Closed]]);
    // Neighbours of different runs do not stand together.
    let groups: Vec<usize> = (0..4).map(|index| traces.find(index).unwrap().0.group).collect();
    assert_eq!(groups, [0, 1, 1, 3]);
}

#[test]
fn a_look_up_belongs_to_the_call_that_it_is_about() {
    let tool = |kind: &str, tool: &str, more: Value| {
        let mut line: Map<String, Value> = json!({"step": 1, "type": kind, "tool": tool}).as_object().unwrap().clone();
        line.extend(more.as_object().unwrap().clone());
        Value::Object(line)
    };
    let lines = [
        json!({"step": 1, "type": "llm_call", "tool_calls": [{"id": "c1", "name": "pay", "args": {"n": 1}}]}),
        tool("tool_call", "pay", json!({"call_id": "c1", "args": {"n": 1}})),
        json!({"type": "crash", "step": 1}),
        tool("tool_call", "look", json!({"call_id": "c1"})),
        tool("tool_retry", "look", json!({"error": "timeout: none"})),
        tool("tool_call", "look", json!({"call_id": "c1"})),
        tool("tool_call", "pay", json!({"call_id": "c1", "args": {"n": 1}})),
        tool("tool_result", "pay", json!({"call_id": "c1", "ok": true})),
    ];
    let trace = trace_of(&lines);
    assert_eq!(trace.calls.len(), 1);
    let found: Vec<_> = trace.attempts.iter().map(|attempt| (attempt.purpose, attempt.state())).collect();
    let (closed, in_doubt) = (AttemptState::Closed, AttemptState::InDoubt);
    let (tool, look_up) = (Purpose::Tool, Purpose::LookUp);
    assert_eq!(found, [(tool, in_doubt), (look_up, closed), (look_up, closed), (tool, closed)]);
}

/// A log that only announces may not cost more for each record.
#[test]
fn a_hundred_thousand_intents_without_results_are_read_at_once() {
    let mut trace = Trace::default();
    for index in 0..100_000 {
        let line =
            json!({"step": index / 10, "type": "tool_call", "tool": "t", "call_id": format!("c{index}"), "args": {"n": index}});
        trace.push(index, &Entry::read(&line));
    }
    assert_eq!(trace.attempts.len(), 100_000);
}
