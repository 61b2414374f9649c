//! Lots for randomised tests: a small generator, and the seed that a run of them is repeated with.

use std::hash::{BuildHasher, RandomState};

use crashlab::base::hash::mix;

/// The variable of the environment that names the seed.
const VARIABLE: &str = "CRASHLAB_SEED";

/// SplitMix64.
pub struct Lots(pub u64);

impl Lots {
    /// Fresh lots, whose seed is printed first; those of an earlier run, if `CRASHLAB_SEED` names its seed.
    pub fn of(test: &str) -> Lots {
        let given = std::env::var(VARIABLE).ok().map(|text| text.parse().expect("CRASHLAB_SEED is a whole number"));
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(test));
        println!("{test}: {VARIABLE}={seed}");
        Lots(seed)
    }

    /// A number from 0 to the bound, without the bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix(self.0) % bound
    }

    /// The same for places in a list.
    pub fn place(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub fn one_of<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.place(things.len())]
    }

    /// Any number, small ones and the largest ones more often than others.
    pub fn number(&mut self) -> u64 {
        let any = self.below(u64::MAX) >> self.below(64);
        *self.one_of(&[any, any, any, u64::MAX - any, 0, u64::MAX])
    }

    /// A place in a text at which it may be cut.
    pub fn cut(&mut self, text: &str) -> usize {
        let mut at = self.place(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}
