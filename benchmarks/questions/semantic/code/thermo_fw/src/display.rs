//! Four-digit LCD with a degree sign.

const SEGMENTS: [u8; 10] = [0x3F, 0x06, 0x5B, 0x4F, 0x66, 0x6D, 0x7D, 0x07, 0x7F, 0x6F];

pub fn digits(centi: i32) -> [u8; 3] {
    let half = (centi + 25) / 50 * 5;
    [
        SEGMENTS[(half / 100 % 10) as usize],
        SEGMENTS[(half / 10 % 10) as usize] | 0x80,
        SEGMENTS[(half % 10) as usize],
    ]
}

/// Three seconds on both buttons.
pub struct ChildLock {
    held: u8,
    pub on: bool,
}

impl ChildLock {
    pub fn sample(&mut self, both_down: bool) {
        self.held = if both_down { self.held.saturating_add(1) } else { 0 };
        if self.held == 30 {
            self.on = !self.on;
        }
    }
}
