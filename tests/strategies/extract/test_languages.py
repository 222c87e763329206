"""`extract` keeps as much of a chat in Chinese as of the same chat in English."""

from typing import Any

import pytest

from context_compression import compress, count_tokens

CHAT = [
    ("Who lays the pipes?", "The Brandt company lays them for 1840 euros.", "1840"),
    ("How wide are they?", "Take 32 millimetres, because 25 lose pressure.", "32"),
    ("When do they come?", "On 14 May, at seven in the morning.", "14"),
    ("Do we need a filter?", "Yes, a sand filter of 60 micrometres.", "60"),
    ("Where does the tank stand?", "Behind the barn, on a floor of 2 by 3 metres.", "3"),
    ("How large is the tank?", "It takes 5000 litres, which last a week.", "5000"),
    ("Do we need a permit?", "No, none below 10 metres of depth.", "10"),
    ("Which cable do we take?", "A rubber cable of 45 metres.", "45"),
    ("What about frost?", "Lay it 80 centimetres deep.", "80"),
    ("What does it cost?", "About 6300 euros in all.", "6300"),
    ("What colour is the gate?", "The gate is painted dark green.", ""),
    ("Who cuts the grass?", "Petra cuts it on Saturdays.", ""),
    ("Is the shed locked?", "Yes, the key hangs by the oven.", ""),
    ("Where is the compost?", "It lies behind the garage.", ""),
    ("What does the fence need?", "Two coats of linseed oil.", ""),
    ("When is the market?", "It opens early on Fridays.", ""),
]
IN_CHINESE = [
    ("谁来铺管？", "布兰特公司铺，费用 1840 欧元。", "1840"),
    ("管径多少？", "用 32 毫米的管，因为 25 毫米会掉压。", "32"),
    ("什么时候来？", "5 月 14 日早上七点。", "14"),
    ("要过滤器吗？", "要，60 微米的砂滤器。", "60"),
    ("水箱放哪？", "放在谷仓后面，2 乘 3 米的底板上。", "3"),
    ("水箱多大？", "能装 5000 升，够用一周。", "5000"),
    ("要许可吗？", "不要，10 米以内都不用。", "10"),
    ("用什么电缆？", "用 45 米的橡胶电缆。", "45"),
    ("怎么防冻？", "埋 80 厘米深。", "80"),
    ("总共多少钱？", "一共大约 6300 欧元。", "6300"),
    ("大门什么颜色？", "大门漆成深绿色。", ""),
    ("谁割草？", "佩特拉每周六割草。", ""),
    ("棚子锁了吗？", "锁了，钥匙挂在炉子旁。", ""),
    ("堆肥在哪？", "在车库后面。", ""),
    ("围栏要做什么？", "刷两遍亚麻籽油。", ""),
    ("集市几点开？", "周五一早就开。", ""),
]


def kept(chat: list[tuple[str, str, str]], share: float) -> int:
    """How many answers with numbers are in a view of this share of the chat's tokens."""
    messages: list[dict[str, Any]] = [
        {"role": role, "content": text}
        for asked, told, _ in chat
        for role, text in (("user", asked), ("assistant", told))
    ]
    messages.append({"role": "user", "content": "OK."})
    target = int(share * count_tokens(messages))
    view = compress(messages, target_tokens=target, strategy="extract").messages
    text = "\n".join(str(message["content"]) for message in view)
    return sum(told in text for _, told, number in chat if number)


@pytest.mark.parametrize("share", [0.7, 0.5])
def test_a_chat_in_chinese_keeps_about_as_many_answers_as_in_english(share: float) -> None:
    assert kept(IN_CHINESE, share) >= kept(CHAT, share) - 2 > 2
