use crate::radio::Frame;

const EMPTY_MV: u16 = 2100;
const WEAK_MV: u16 = 2350;

#[derive(PartialEq, Clone, Copy)]
pub enum Supply {
    Good,
    Weak,
    Empty,
}

pub fn classify(mv: u16, previous: Supply) -> Supply {
    // 50 mV of hysteresis
    let h = if previous == Supply::Good { 0 } else { 50 };
    match mv {
        v if v < EMPTY_MV + h => Supply::Empty,
        v if v < WEAK_MV + h => Supply::Weak,
        _ => Supply::Good,
    }
}

/// With the last drop of energy: leave the radiator half open, not shut.
pub fn last_position(s: Supply) -> Option<u8> {
    (s == Supply::Empty).then_some(50)
}

pub fn deep_sleep(seconds: u16) {
    embassy_stm32::rtc::set_wakeup(seconds);
    cortex_m::asm::wfi();
}

pub async fn adc(channel: u8) -> u16 {
    embassy_stm32::adc::one_shot(channel).await
}

pub async fn receive(_timeout_ms: u32) -> Option<Frame> {
    None
}
