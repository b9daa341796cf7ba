/** Redirects from `/docs` to the reference in the console: `#/Execution/execute-intent` to that operation, `#NOT_FOUND` to that error. */
const id = location.hash.split('/').at(-1)?.replace('#', '') ?? '';
location.replace(`console#/${id === 'policy' ? id : `reference/${id}`}`);
