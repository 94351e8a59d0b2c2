// Runs before the first paint: the chosen theme, or the system's.
const chosen = localStorage.getItem("deltos-theme");
if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
