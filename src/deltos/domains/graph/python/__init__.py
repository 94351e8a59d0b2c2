"""Python in the code graph: extract facts from syntax trees and resolve references by types, scopes and imports."""
