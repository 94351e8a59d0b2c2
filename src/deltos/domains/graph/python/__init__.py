"""Python in the code graph: extract facts from syntax trees and resolve references with types, scopes and imports."""
