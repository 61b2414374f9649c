//! A second agent on the run of a session: what happens when a tab resumes a run whose agent lives in another one.

use crate::lab::driver_state::{DriverStage, Liveness};
use crate::lab::session::{Session, SessionError, Tick};
use crate::log::store::Store;

/// So many ticks the first agent may continue after the end of the run.
const BOUND: u32 = 10_000;

impl Session {
    /// A second tab resumes the run although its agent lives. That one continues beside the new
    /// one, until storage refuses it.
    pub fn open_second_tab(&mut self, store: &mut dyn Store) -> Result<(), SessionError> {
        if self.driver_state.agent.is_none()
            || matches!(self.driver_state.stage, DriverStage::Stopped(_))
            || self.second_writer_lives()
        {
            return Ok(());
        }
        let first = self.driver_state.clone();
        // The first agent stays in place if the second one cannot be made.
        self.take_over(store, self.now_ms)?;
        self.second_writer = Some(first);
        Ok(())
    }

    /// Opens the scenario's second tab, if its point has been met often enough only now. Its agent says at once what it
    /// wants.
    pub(super) fn second_tab_opens(&mut self, met_before: u32, store: &mut dyn Store) -> Option<Tick> {
        let met = self.progress.second_writer_point_met(&self.scenario);
        if met == met_before || self.scenario.second_writer.as_ref()?.nth != met {
            return None;
        }
        // If the second tab cannot take the run over, the first one continues alone.
        self.open_second_tab(store).ok()?;
        matches!(self.driver_state.stage, DriverStage::Fresh).then(|| self.tick_agent(store))
    }

    /// Lets the first agent go half an effect further; after the end of the run, where nobody follows it, to its own end.
    pub(super) fn step_second_writer(&mut self, store: &mut dyn Store) {
        for _ in 0..BOUND {
            if !self.second_writer_lives() {
                return;
            }
            self.change_places();
            self.tick_agent(store);
            self.change_places();
            if !matches!(self.driver_state.stage, DriverStage::Stopped(_)) {
                return;
            }
        }
    }

    fn second_writer_lives(&self) -> bool {
        self.second_writer.as_ref().is_some_and(|second_writer| second_writer.state() == Liveness::Working)
    }

    /// The first agent takes the place of the session's own, or gives it back.
    fn change_places(&mut self) {
        if let Some(second_writer) = &mut self.second_writer {
            std::mem::swap(&mut self.driver_state, second_writer);
            self.is_second_writers_turn = !self.is_second_writers_turn;
        }
    }
}
