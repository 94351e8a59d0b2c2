#![no_std]
#![no_main]

mod config;
mod control;
mod display;
mod motor;
mod power;
mod radio;
mod sensor;
mod watchdog;

use embassy_executor::Spawner;
use embassy_time::{Duration, Ticker};

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    let p = embassy_stm32::init(Default::default());
    let mut cfg = config::load().unwrap_or_default();
    let mut pi = control::Regulator::new(cfg.kp, cfg.ki);
    let mut valve = motor::Valve::new(p.PA0, p.PA1);
    valve.find_end_stop().await;
    let mut tick = Ticker::every(Duration::from_secs(120));
    loop {
        tick.next().await;
        watchdog::feed();
        let t = sensor::read().await;
        if control::window_opened(t) {
            valve.move_to(0).await;
            continue;
        }
        valve.move_to(pi.step(cfg.target_centi, t)).await;
        radio::poll(&mut cfg).await;
    }
}
