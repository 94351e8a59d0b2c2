use embassy_stm32::gpio::{Level, Output, Pin, Speed};
use embassy_time::{Duration, Timer};

const STALL_MA: u16 = 85;
const MS_PER_PERCENT: u64 = 140;

pub struct Valve {
    a: Output<'static>,
    b: Output<'static>,
    position: u8,
}

impl Valve {
    pub fn new(a: impl Pin, b: impl Pin) -> Self {
        Self {
            a: Output::new(a, Level::Low, Speed::Low),
            b: Output::new(b, Level::Low, Speed::Low),
            position: 0,
        }
    }

    /// Drives until the current rises, which means the pin has hit the seat.
    pub async fn find_end_stop(&mut self) {
        self.a.set_high();
        for _ in 0..400 {
            Timer::after(Duration::from_millis(50)).await;
            if crate::sensor::motor_ma().await > STALL_MA {
                break;
            }
        }
        self.a.set_low();
        self.position = 0;
    }

    pub async fn move_to(&mut self, percent: u8) {
        let delta = percent as i16 - self.position as i16;
        // small corrections only cost battery
        if delta.abs() < 3 {
            return;
        }
        let pin = if delta > 0 { &mut self.b } else { &mut self.a };
        pin.set_high();
        Timer::after(Duration::from_millis(delta.unsigned_abs() as u64 * MS_PER_PERCENT)).await;
        pin.set_low();
        self.position = percent;
    }
}
