export function FlameCard(_: { family?: string; build?: string | null; against?: string }) { return null; }
