//! A herd: many agents that work at the same time and need one service, which is down at first and then serves only so much.
//!
//! All of them are real agents with real worlds. What they do is a function of scenario, mechanisms and seed, so it is worked out once,
//! and then shown as time goes by. The run that a session drives is that of the first of them; the service that it meets is as busy as
//! the others make it.

use std::sync::Arc;

use super::faults::FaultKind;
use super::mechanisms::{Mechanism, Mechanisms};
use super::scenario::Scenario;
use super::world::{Reply, ToolRequest, World};
use crate::agent::Agent;
use crate::agent::protocol::{Answer, EffectId, EffectKind, Event};
use crate::agent::tools::{ToolSpec, one_of};
use crate::json::Fields;

/// The `herd` of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HerdSpec {
    /// How many agents there are, with the one that is shown.
    pub agents: u32,
    /// The tool that all of them need.
    pub tool: String,
    /// How many of its calls are served in each second. The others get a 503.
    pub capacity_per_s: u32,
    /// Until when every call gets a 503, in milliseconds from the start of the run.
    pub down_until_ms: u64,
}

impl HerdSpec {
    /// Reads the `herd` of a scenario.
    pub fn from_json(from: &Fields, tools: &[ToolSpec]) -> HerdSpec {
        from.only(&["agents", "tool", "capacity_per_s", "down_until_s"]);
        let (agents, tool) = (from.small_count("agents"), from.text("tool"));
        if !(2..=MOST_AGENTS).contains(&agents) {
            from.note_wrong("agents", "a number of agents from 2 to 200");
        }
        if tools.iter().all(|known| known.name != tool) {
            from.note_wrong("tool", &one_of(tools));
        }
        HerdSpec {
            // The work of a herd is bounded, whatever the document says.
            agents: agents.min(MOST_AGENTS),
            tool: tool.to_string(),
            capacity_per_s: from.ordinal("capacity_per_s"),
            down_until_ms: from.duration_ms("down_until_s"),
        }
    }
}

/// Everything is worked out at once, so there is a bound.
const MOST_AGENTS: u32 = 200;

/// An agent with more effects than this is not going to end.
const EFFECT_BOUND: u32 = 5_000;

/// What a herd did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Herd {
    spec: HerdSpec,
    start_ms: u64,
    /// All requests to the service, in the order of time.
    pub requests: Vec<HerdRequest>,
    /// How it ended for each agent.
    pub ends: Vec<HerdEnd>,
}

/// One request to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HerdRequest {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// Whose: 0 is the agent that is shown.
    pub agent: u32,
    /// From 1, within the call.
    pub attempt: u32,
    /// False: it got a 503.
    pub is_served: bool,
}

/// How it ended for one agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HerdEnd {
    /// Requests that it sent to the service.
    pub requests: u32,
    /// When it was served for the first time, in milliseconds since 1970; `None`: never.
    pub served_ms: Option<u64>,
}

/// The requests of one span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bucket {
    /// All of them.
    pub requests: u32,
    /// Those that were served.
    pub served: u32,
}

impl Herd {
    /// Lets the herd of a scenario run to its end; `None` if it has none. The first agent has this seed, each further one the next.
    pub fn of(scenario: &Arc<Scenario>, mechanisms: Mechanisms, seed: u64) -> Option<Herd> {
        let spec = scenario.herd.clone()?;
        let start = |number: u32| Member::start(scenario, mechanisms, seed, number);
        let mut members: Vec<Member> = (0..spec.agents).map(start).collect();
        let ends = vec![HerdEnd::default(); members.len()];
        let mut herd = Herd { spec, start_ms: scenario.start_ms, requests: Vec::new(), ends };
        // Whose turn is first; of those whose turns come together the one with the lowest number.
        while let Some(next) = members.iter_mut().filter(|member| !member.is_over).min_by_key(|member| member.due_ms) {
            next.goes_on(&mut herd);
        }
        Some(herd)
    }

    /// True if the service has nothing left for another agent's request at this time. Requests of agent 0 do not count: they are who
    /// asks.
    pub fn is_busy(&self, tool: &str, at_ms: u64) -> bool {
        self.spec.tool == tool && (self.is_down(at_ms) || self.served_before(at_ms, 0) >= self.spec.capacity_per_s)
    }

    fn is_down(&self, at_ms: u64) -> bool {
        at_ms.saturating_sub(self.start_ms) < self.spec.down_until_ms
    }

    /// How many requests of other agents were served in the same second before.
    fn served_before(&self, at_ms: u64, agent: u32) -> u32 {
        let second = |at_ms: u64| at_ms.saturating_sub(self.start_ms) / 1_000;
        let is_before = |request: &&HerdRequest| {
            let in_time = request.at_ms < at_ms || (request.at_ms == at_ms && request.agent < agent);
            request.is_served && request.agent != agent && in_time && second(request.at_ms) == second(at_ms)
        };
        self.requests.iter().filter(is_before).count() as u32
    }

    /// An agent's request arrives. True: it is served.
    fn takes(&mut self, agent: u32, attempt: u32, at_ms: u64) -> bool {
        let is_served = !self.is_down(at_ms) && self.served_before(at_ms, agent) < self.spec.capacity_per_s;
        self.requests.push(HerdRequest { at_ms, agent, attempt, is_served });
        let end = &mut self.ends[agent as usize];
        end.requests += 1;
        if is_served && end.served_ms.is_none() {
            end.served_ms = Some(at_ms);
        }
        is_served
    }

    /// How many agents there are, and what they need.
    pub fn spec(&self) -> &HerdSpec {
        &self.spec
    }

    /// When the run starts, in milliseconds since 1970.
    pub fn start_ms(&self) -> u64 {
        self.start_ms
    }

    /// The most repeated requests that came in the same millisecond, up to a time.
    pub fn most_at_once(&self, until_ms: u64) -> u32 {
        let (mut most, mut count, mut instant) = (0, 0, 0);
        for request in self.requests.iter().filter(|request| request.attempt > 1 && request.at_ms <= until_ms) {
            count = if request.at_ms == instant { count + 1 } else { 1 };
            instant = request.at_ms;
            most = most.max(count);
        }
        most
    }

    /// The requests up to a time, counted by spans of so many milliseconds from the start of the run.
    pub fn buckets(&self, span_ms: u64, until_ms: u64) -> Vec<Bucket> {
        let mut buckets: Vec<Bucket> = Vec::new();
        for request in self.requests.iter().filter(|request| request.at_ms <= until_ms) {
            let place = (request.at_ms.saturating_sub(self.start_ms) / span_ms.max(1)) as usize;
            if buckets.len() <= place {
                buckets.resize(place + 1, Bucket::default());
            }
            buckets[place].requests += 1;
            buckets[place].served += u32::from(request.is_served);
        }
        buckets
    }
}

/// One agent of a herd with its own world.
struct Member {
    number: u32,
    agent: Agent,
    world: World,
    /// The answer that is under way, and to what.
    out: Option<(EffectId, Answer)>,
    /// When it arrives.
    due_ms: u64,
    /// How many effects it may still have.
    effects_left: u32,
    is_over: bool,
}

impl Member {
    fn start(scenario: &Arc<Scenario>, mechanisms: Mechanisms, seed: u64, number: u32) -> Member {
        let run_id = format!("{}-{number}", scenario.task_id).into();
        let config = Arc::new(scenario.config(mechanisms, seed.wrapping_add(number.into()), run_id));
        Member {
            number,
            agent: Agent::start(config, scenario.start_ms),
            world: World::new(scenario.clone(), mechanisms.has(Mechanism::Idempotency)),
            out: None,
            due_ms: scenario.start_ms,
            effects_left: EFFECT_BOUND,
            is_over: false,
        }
    }

    /// Takes the answer that is due, and goes on until something takes time.
    fn goes_on(&mut self, herd: &mut Herd) {
        while self.effects_left > 0 {
            self.effects_left -= 1;
            if let Some((effect, answer)) = self.out.take() {
                let taken = self.agent.handle(Event { effect, at_ms: self.due_ms, answer });
                debug_assert!(taken.is_ok(), "{taken:?}");
            }
            let Some(effect) = self.agent.poll() else { break };
            let Some(reply) = self.carry_out(&effect.kind, herd) else { break };
            self.out = Some((effect.id, reply.answer));
            self.due_ms += reply.takes_ms;
            if reply.takes_ms > 0 {
                return;
            }
        }
        self.is_over = true;
    }

    /// Nobody of the herd crashes, so nothing is kept for a resume.
    fn carry_out(&mut self, effect: &EffectKind, herd: &mut Herd) -> Option<Reply> {
        let at_ms = self.due_ms;
        Some(match effect {
            EffectKind::Append(_) => Reply::at_once(Answer::Durable),
            EffectKind::SaveCheckpoint { .. } => Reply::at_once(Answer::Saved { bytes: 0, generation: 1 }),
            EffectKind::CallModel { request, .. } => self.world.call_model(request, at_ms, None, None),
            EffectKind::CallTool { call, attempt, idempotency_key, expected_version, .. } => {
                let is_refused = *call.name == *herd.spec.tool && !herd.takes(self.number, *attempt, at_ms);
                let fault = is_refused.then_some(FaultKind::Unavailable);
                let (key, expected_version) = (idempotency_key.clone(), expected_version.clone());
                self.world.call_tool(&ToolRequest { call: call.clone(), key, expected_version }, at_ms, None, fault.as_ref())
            }
            EffectKind::AskApproval { tool, args, approval_key } => {
                self.world.ask(approval_key, tool, args, at_ms, None);
                self.world.person_sees(approval_key, true);
                let (answer, decided_ms) = self.world.decision(approval_key)?;
                Reply { answer, takes_ms: decided_ms.saturating_sub(at_ms) }
            }
            EffectKind::Wait { until_ms } => Reply { answer: Answer::TimeHasCome, takes_ms: until_ms.saturating_sub(at_ms) },
            EffectKind::Stop { .. } => return None,
        })
    }
}
