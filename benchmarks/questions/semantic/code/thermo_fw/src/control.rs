//! PI regulation in hundredths of a degree.

pub struct Regulator {
    kp: i32,
    ki: i32,
    sum: i32,
}

impl Regulator {
    pub const fn new(kp: i32, ki: i32) -> Self {
        Self { kp, ki, sum: 0 }
    }

    /// Returns the opening in percent.
    pub fn step(&mut self, target: i32, actual: i32) -> u8 {
        let err = target - actual;
        let out = (self.kp * err + self.ki * self.sum) / 1000;
        // stop summing while saturated, otherwise it overshoots for hours
        if (0..=100).contains(&out) || (out > 100) != (err > 0) {
            self.sum = (self.sum + err).clamp(-20_000, 20_000);
        }
        out.clamp(0, 100) as u8
    }
}

static mut LAST: i32 = i32::MIN;

/// A drop of more than 1.2 K within two minutes: somebody is airing the room.
pub fn window_opened(now: i32) -> bool {
    let before = unsafe { core::mem::replace(&mut LAST, now) };
    before != i32::MIN && before - now > 120
}

pub fn frost_guard(target: i32) -> i32 {
    target.max(500)
}

/// Once a week the pin is run from end to end, else it sticks after summer.
pub fn descale_due(hours_since: u32, weekday: u8, hour: u8) -> bool {
    hours_since >= 160 && weekday == 6 && hour == 11
}
