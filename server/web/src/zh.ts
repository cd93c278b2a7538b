const texts: Record<string, string> = {};
export default texts;
