export function Paths(_: { family: string; build: string | null }) { return null; }
export function Verdicts(_: { id: string }) { return null; }
