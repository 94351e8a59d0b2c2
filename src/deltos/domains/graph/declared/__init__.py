"""Languages followed by imports and declared types: Go, Java, Kotlin, C#, Rust, C, C++, PHP, Ruby."""
