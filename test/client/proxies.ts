/** Proxies whose host is not certain, because their passwords are not encoded; the secret parts are `ci`, `4711` and `Zm9v`. */
export const unclearProxies: [string, string][] = [
  ['a slash', 'http://ci:Zm9v/4711@127.0.0.1:1'],
  ['a slash after what may be a port', 'http://ci:4711/Zm9v@127.0.0.1:1'],
  ['a number sign', 'http://ci:4711#Zm9v@127.0.0.1:1'],
  ['a question mark', 'https://ci:4711?Zm9v@127.0.0.1:1'],
  ['a backslash', 'http://ci:4711\\Zm9v@127.0.0.1:1'],
  ['an at sign and a slash', 'http://ci:Zm9v@127.0.0.1/4711@127.0.0.1:1'],
  ['a slash, without a scheme', 'ci:4711/Zm9v@127.0.0.1:1'],
  ['two slashes after a colon, without a scheme', 'ci:Zm9v://4711@127.0.0.1:1'],
  ['a scheme without its second slash', 'http:/ci:4711@127.0.0.1:1'],
];
