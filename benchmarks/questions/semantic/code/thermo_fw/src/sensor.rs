use heapless::HistoryBuffer;

const BETA: f32 = 3950.0;
const R25: f32 = 10_000.0;
const PULLUP: f32 = 10_000.0;

static mut WINDOW: HistoryBuffer<i32, 5> = HistoryBuffer::new();

/// Beta equation; result in centi-degrees.
pub fn ntc_to_centi(adc: u16) -> i32 {
    let ratio = adc as f32 / 4095.0;
    let r = PULLUP * ratio / (1.0 - ratio);
    let inv = 1.0 / 298.15 + libm::logf(r / R25) / BETA;
    ((1.0 / inv - 273.15) * 100.0) as i32
}

pub fn median5(x: i32) -> i32 {
    let w = unsafe { &mut WINDOW };
    w.write(x);
    let mut v: heapless::Vec<i32, 5> = w.oldest_ordered().copied().collect();
    v.sort_unstable();
    v[v.len() / 2]
}

/// The valve body is warmer than the room; subtract a share of the excess.
pub fn body_offset(measured: i32, opening: u8) -> i32 {
    measured - (opening as i32 * 180) / 100
}

pub async fn read() -> i32 {
    median5(ntc_to_centi(crate::power::adc(0).await))
}

pub async fn motor_ma() -> u16 {
    (crate::power::adc(3).await as u32 * 330 / 4095) as u16
}
