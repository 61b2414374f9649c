//! Fingerprints of states, and the table that finds them again.

use std::hash::Hasher;

/// A hash of 128 bits: two of 64 bits with different arithmetic. The same on every machine, also where `usize` has 32 bits.
///
/// Two different states get the same print by chance with odds of about n² / 2¹²⁹ among n states: for ten million states 10⁻²⁵.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    a: u64,
    b: u64,
}

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xc2b2_ae3d_27d4_eb4f;

impl Default for Fingerprint {
    fn default() -> Fingerprint {
        Fingerprint { a: FIRST, b: SECOND }
    }
}

impl Fingerprint {
    /// What has been hashed so far, as one number.
    pub fn number(self) -> u128 {
        use crate::base::hash::mix;
        (u128::from(mix(self.a)) << 64) | u128::from(mix(self.b ^ self.a.rotate_left(32)))
    }
}

impl Hasher for Fingerprint {
    fn finish(&self) -> u64 {
        (self.number() >> 64) as u64
    }

    fn write_u64(&mut self, word: u64) {
        let a = (self.a ^ word).wrapping_mul(FIRST);
        self.a = a ^ (a >> 32);
        self.b = self.b.wrapping_add(word).rotate_left(29).wrapping_mul(SECOND);
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.write_u64(word.iter().rev().fold(0, |all, &byte| (all << 8) | u64::from(byte)));
        }
        let rest = words.remainder();
        let tail = rest.iter().rev().fold(0, |all, &byte| (all << 8) | u64::from(byte));
        self.write_u64(tail ^ (bytes.len() as u64) << 56);
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    fn write_u16(&mut self, word: u16) {
        self.write_u64(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64((word >> 64) as u64);
        self.write_u64(word as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_i32(&mut self, word: i32) {
        self.write_u64(word as u64);
    }

    fn write_i64(&mut self, word: i64) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

/// Finds the number of a print. Its order decides nothing: numbers are given by who adds.
#[derive(Debug, Default)]
pub struct Table {
    /// One more than the number; 0: free. Twice as many as prints at least.
    slots: Vec<u32>,
    prints: Vec<u128>,
}

impl Table {
    /// Adds a print without looking whether it is there.
    pub fn push(&mut self, print: u128) -> u32 {
        self.prints.push(print);
        self.prints.len() as u32 - 1
    }

    /// The number of a print, and whether it is new.
    pub fn find_or_add(&mut self, print: u128) -> (u32, bool) {
        if self.slots.len() < 2 * (self.prints.len() + 1) {
            self.grow();
        }
        let mut place = self.home(print);
        loop {
            match self.slots[place] {
                0 => {
                    let number = self.push(print);
                    self.slots[place] = number + 1;
                    return (number, true);
                }
                taken if self.prints[taken as usize - 1] == print => return (taken - 1, false),
                _ => place = (place + 1) & (self.slots.len() - 1),
            }
        }
    }

    fn home(&self, print: u128) -> usize {
        print as usize & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        self.slots = vec![0; (4 * (self.prints.len() + 1)).next_power_of_two().max(1024)];
        for number in 0..self.prints.len() {
            let mut place = self.home(self.prints[number]);
            while self.slots[place] != 0 {
                place = (place + 1) & (self.slots.len() - 1);
            }
            self.slots[place] = number as u32 + 1;
        }
    }
}
