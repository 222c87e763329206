"""The ways to call a model that writes summaries.

anthropic.py      `AnthropicSummarizer`: a Claude model over the Messages API
openai.py         `OpenAISummarizer`: a model behind `/chat/completions`
chat_options.py   the options that such a server and its model take
chat_answer.py    its answer, gathered from chunks
attempts.py       retries, one deadline, the tokens of all calls
failures.py       why a call gave no summary, and whether a retry may help
prices.py         the price of tokens
deadline.py       one deadline for all requests of a compression
"""
