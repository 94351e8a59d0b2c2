"""Resolver for languages with declared types and packages: Go, Java, Kotlin, C#, Rust, C, C++, PHP, Ruby, Swift."""
