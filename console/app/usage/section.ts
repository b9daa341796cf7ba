export const usage = { path: 'usage', title: 'Usage' };
