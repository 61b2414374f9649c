//! A fleet: many agents that work at the same time and need one service, which is down at first and then serves only so much.
//!
//! All of them are real agents with real worlds. What they do is a function of scenario, mechanisms and seed, so it is worked out once,
//! and then shown as time goes by. The run that a session drives is that of the first of them; the service that it meets is as busy as
//! the others make it.

use crate::agent::protocol::EffectKind;
use crate::agent::tools::{ToolSpec, one_of};
use crate::base::json::Fields;
use crate::lab::faults::FaultKind;
use crate::lab::scenario::When;
use crate::lab::session::{Session, Setup, Tick};
use crate::log::store::MemoryStore;

/// The `herd` of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FleetSpec {
    /// How many agents there are, with the one that is shown.
    pub agents: u32,
    /// The tool that all of them need.
    pub tool: String,
    /// How many of its calls are served in each second. The others get a 503.
    pub capacity_per_s: u32,
    /// Until when every call gets a 503, in milliseconds from the start of the run.
    pub down_until_ms: u64,
}

impl FleetSpec {
    /// Reads the `herd` of a scenario.
    pub fn from_json(from: &Fields, tools: &[ToolSpec]) -> FleetSpec {
        from.only(&["agents", "tool", "capacity_per_s", "down_until_s"]);
        let (agents, tool) = (from.u32("agents"), from.str("tool"));
        if !(2..=MOST_AGENTS).contains(&agents) {
            from.note_wrong("agents", "a number of agents from 2 to 200");
        }
        if tools.iter().all(|known| known.name != tool) {
            from.note_wrong("tool", &one_of(tools));
        }
        FleetSpec {
            // The work of a fleet is bounded, whatever the document says.
            agents: agents.min(MOST_AGENTS),
            tool: tool.to_string(),
            capacity_per_s: from.ordinal("capacity_per_s"),
            down_until_ms: from.duration_ms("down_until_s"),
        }
    }
}

/// Everything is worked out at once, so there is a bound.
const MOST_AGENTS: u32 = 200;

/// An agent with more ticks than this is not going to end.
const TICKS_PER_AGENT: usize = 5_000;

/// What a fleet did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    spec: FleetSpec,
    start_ms: u64,
    /// All requests to the service, in the order of time.
    pub requests: Vec<FleetRequest>,
    /// How it ended for each agent.
    pub ends: Vec<FleetEnd>,
}

/// One request to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetRequest {
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
pub struct FleetEnd {
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

impl Fleet {
    /// Lets the fleet of a scenario run to its end; `None` if it has none. The first agent has the seed of the setup, each further one the
    /// next.
    pub fn of(setup: &Setup) -> Option<Fleet> {
        let spec = setup.scenario.fleet.clone()?;
        let mut members: Vec<(Session, MemoryStore)> = Vec::new();
        for number in 0..spec.agents {
            let mut store = MemoryStore::default();
            let own = Setup { seed: setup.seed.wrapping_add(number.into()), interactive: false, ..setup.clone() };
            let mut session = Session::start_in_fleet(own, &mut store).ok()?;
            session.leave_judging_to_me();
            members.push((session, store));
        }
        let ends = vec![FleetEnd::default(); members.len()];
        let mut fleet = Fleet { spec, start_ms: setup.scenario.start_ms, requests: Vec::new(), ends };
        for _ in 0..TICKS_PER_AGENT * members.len() {
            // Whose turn is first; of those whose turns come together the one with the lowest number.
            let working = members.iter_mut().enumerate().filter(|(_, (session, _))| session.status().is_none());
            let Some((number, (session, store))) = working.min_by_key(|(_, (session, _))| session.next_ms()) else { break };
            fleet.lets_go_on(number as u32, session, store);
        }
        Some(fleet)
    }

    /// Half an effect of one agent.
    fn lets_go_on(&mut self, number: u32, session: &mut Session, store: &mut MemoryStore) {
        if let Some((effect, When::Before)) = session.in_flight()
            && let EffectKind::CallTool { call, attempt, .. } = &effect.kind
            && *call.name == *self.spec.tool
            && !self.takes(number, *attempt, session.now_ms())
        {
            session.inject(FaultKind::Unavailable);
        }
        if let Tick::Crashed { .. } = session.tick(store) {
            // What is in memory can be resumed.
            let _ = session.resume(store);
        }
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
        let is_before = |request: &&FleetRequest| {
            let in_time = request.at_ms < at_ms || (request.at_ms == at_ms && request.agent < agent);
            request.is_served && request.agent != agent && in_time && second(request.at_ms) == second(at_ms)
        };
        self.requests.iter().filter(is_before).count() as u32
    }

    /// An agent's request arrives. True: it is served.
    fn takes(&mut self, agent: u32, attempt: u32, at_ms: u64) -> bool {
        let is_served = !self.is_down(at_ms) && self.served_before(at_ms, agent) < self.spec.capacity_per_s;
        self.requests.push(FleetRequest { at_ms, agent, attempt, is_served });
        let end = &mut self.ends[agent as usize];
        end.requests += 1;
        if is_served && end.served_ms.is_none() {
            end.served_ms = Some(at_ms);
        }
        is_served
    }

    /// How many agents there are, and what they need.
    pub fn spec(&self) -> &FleetSpec {
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
            let index = (request.at_ms.saturating_sub(self.start_ms) / span_ms.max(1)) as usize;
            if buckets.len() <= index {
                buckets.resize(index + 1, Bucket::default());
            }
            buckets[index].requests += 1;
            buckets[index].served += u32::from(request.is_served);
        }
        buckets
    }
}
