export function HeatCard(_: { build: string; scenes: string[] }) { return null; }
