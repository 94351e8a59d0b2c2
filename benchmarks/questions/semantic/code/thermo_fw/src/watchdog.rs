use embassy_stm32::pac::IWDG;

const RELOAD: u16 = 0xAAAA;
const START: u16 = 0xCCCC;

/// Resets the chip unless fed within 160 seconds.
pub fn start() {
    IWDG.kr().write(|w| w.set_key(START));
    IWDG.pr().write(|w| w.set_pr(6));
    IWDG.rlr().write(|w| w.set_rl(0xFFF));
}

pub fn feed() {
    IWDG.kr().write(|w| w.set_key(RELOAD));
}

// sticky until the next power-on
pub fn woke_by_hang() -> bool {
    embassy_stm32::pac::RCC.csr().read().iwdgrstf()
}
